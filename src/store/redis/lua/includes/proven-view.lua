-- the reply to a read of a kept view that is still the session's, and of no ids: before all local functions.
--
--- @include kept-view

if same == 1 and #ARGV == 5 then return 1 end

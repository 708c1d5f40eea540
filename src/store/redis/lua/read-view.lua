-- The view behind the one that the caller keeps, or all of it, and the values of some fields of `ids`.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; four texts of the kept view; fields of `ids`.
-- Replies: 1 (the kept view is the session's) | VIEW view values | those of the gate. The view is `same` of kept-view,
--   or else that of `view`.
--
-- twin: store/in-memory/session.ts
--
--- @include proven-view
--- @include gate
--- @include view
--- @include found-fields

local s = not same and loadSession(KEYS[3])
local refusal = s and gate(cjson.decode(ARGV[1]), s, s.left and 'owner key' or 'owner')
if refusal then return refusal end
return { 'VIEW', same or view(first), foundFields(6) }

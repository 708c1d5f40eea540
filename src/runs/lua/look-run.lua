-- The newest run of a session.
--
-- KEYS: run.
-- ARGV: none.
-- Replies: RUN, its time, its meta and its end or "" | NONE.
--
-- twin: none, runs are kept in Redis only
--
--- @include last-run

local last = lastRun(KEYS[1])
return last and last.meta and { 'RUN', last.at, last.meta, last.ending or '' } or { 'NONE' }

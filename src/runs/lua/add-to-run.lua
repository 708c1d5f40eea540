-- Adds a batch to a run.
--
-- KEYS: run.
-- ARGV: the run's time; the number of the batch; its kind; its text.
-- Replies: ADDED | OVER (the run has ended, a newer one has begun, or nothing of it is left).
--
-- twin: none, runs are kept in Redis only
--
--- @include top-of-run

local run, at, id, kind, text = KEYS[1], ARGV[1], ARGV[1] .. '-' .. ARGV[2], ARGV[3], ARGV[4]
-- The same call, sent again because its reply was lost.
if redis.call('XRANGE', run, id, id)[1] then return { 'ADDED' } end
local topAt, _, fields = topOfRun(run)
if topAt ~= at or fields[1] == 'e' then return { 'OVER' } end
redis.call('XADD', run, id, kind, text)
return { 'ADDED' }

-- Adds a batch to a run, or its begin again, batch 0, where Redis lost all of the run.
--
-- KEYS: run.
-- ARGV: the run's time; the number of the batch; its kind; its text; milliseconds to live, with the begin only.
-- Replies: ADDED | OVER (the run has ended, was erased, or a newer one has begun) | GONE (all of it is lost).
--
-- twin: none, runs are kept in Redis only
--
--- @include top-of-run

local run, at, id, kind, text, ttl = KEYS[1], ARGV[1], ARGV[1] .. '-' .. ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- The same call, sent again because its reply was lost.
if redis.call('XRANGE', run, id, id)[1] then return { 'ADDED' } end
local topAt, _, fields = topOfRun(run)
local isLost = not topAt or tonumber(topAt) < tonumber(at)
if not isLost and (topAt ~= at or fields[1] == 'e') then return { 'OVER' } end
if isLost and not ttl then return { 'GONE' } end
redis.call('XADD', run, id, kind, text)
if ttl then redis.call('PEXPIRE', run, ttl) end
return { 'ADDED' }

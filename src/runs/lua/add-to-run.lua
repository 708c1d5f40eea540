-- Adds a batch to a run, behind the one before it only: what a server lost, as by a failover, leaves no gap.
--
-- KEYS: run.
-- ARGV: the run's time; the number of the batch; its kind; its text.
-- Replies: ADDED and the number of the last batch that is there, which is a smaller one where those between were lost |
--   GONE (nothing of the run is there) | LATE (it has ended, or a newer one has begun).
--
-- twin: none, runs are kept in Redis only
--
--- @include top-of-run

local run, at, batch, kind, text = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local topAt, last, fields = topOfRun(run)
if not topAt or tonumber(topAt) < tonumber(at) then return { 'GONE' } end
if topAt == at and tonumber(last) == batch - 1 then
  redis.call('XADD', run, at .. '-' .. batch, kind, text)
  return { 'ADDED', batch }
end
-- The same call, sent again because its reply was lost.
if redis.call('XRANGE', run, at .. '-' .. batch, at .. '-' .. batch)[1] then return { 'ADDED', batch } end
if topAt ~= at or fields[1] == 'e' then return { 'LATE' } end
return { 'ADDED', last }

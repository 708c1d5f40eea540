-- Begins a run, unless one is under way or the session was erased a short time ago; of earlier runs the last one stays
-- readable.
--
-- KEYS: run.
-- ARGV: what is known of the run, unique to the call; milliseconds to live.
-- Replies: BEGUN and the run's time, the first half of its ids | BUSY, time and meta of the run under way | ERASED.
--
-- twin: none, runs are kept in Redis only
--
--- @include now
--- @include last-run

local run, meta, ttl = KEYS[1], ARGV[1], ARGV[2]
local last = lastRun(run)
if last and last.isErased and not last.isCleared then return { 'ERASED' } end
if last and last.meta and not last.ending then
  -- The same call, sent again because its reply was lost.
  return last.meta == meta and { 'BEGUN', last.at } or { 'BUSY', last.at, last.meta }
end
local at = string.format('%.0f', math.max(now(), last and last.at + 1 or 0))
redis.call('XADD', run, at .. '-0', 'b', meta)
if last then redis.call('XTRIM', run, 'MINID', last.at) end
redis.call('PEXPIRE', run, ttl)
return { 'BEGUN', at }

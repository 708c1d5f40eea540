-- Begins a run, unless one is under way or the session was erased a short time ago; of earlier runs the last one stays
-- readable.
--
-- KEYS: run.
-- ARGV: what is known of the run, unique to the call; milliseconds to live; the time of a run that is written again
--   because Redis lost it, or "".
-- Replies: BEGUN and the run's time, the first half of its ids | BUSY, time and meta of the run under way | OVER (a run
--   that was to be written again has ended, or a newer one has begun; older ones may be left in front of what was
--   lost) | ERASED.
--
-- twin: none, runs are kept in Redis only
--
--- @include now
--- @include last-run

local run, meta, ttl, again = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local last = lastRun(run)
if last and last.isErased and not (last.isCleared and again == '') then return { 'ERASED' } end
-- The same call, sent again because its reply was lost.
if last and last.meta == meta and not last.ending then return { 'BEGUN', last.at } end
if last and again ~= '' and tonumber(last.at) >= tonumber(again) then return { 'OVER' } end
if last and again == '' and last.meta and not last.ending then return { 'BUSY', last.at, last.meta } end
local at = again ~= '' and again or string.format('%.0f', math.max(now(), last and last.at + 1 or 0))
redis.call('XADD', run, at .. '-0', 'b', meta)
if last then redis.call('XTRIM', run, 'MINID', last.at) end
redis.call('PEXPIRE', run, ttl)
return { 'BEGUN', at }

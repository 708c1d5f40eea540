-- Writes the last entry of a run, if nobody else has: of several ends exactly one counts.
--
-- KEYS: run.
-- ARGV: the run's time; the end; milliseconds to live from now; the number of its last batch, or "" for the one that is
--   there, where the caller is not its producer.
-- Replies: ENDED and the end that counts | GONE (nothing of the run is left) | BEHIND and the number of the last batch
--   that is there, where those behind it were lost.
--
-- twin: none, runs are kept in Redis only
--
--- @include top-of-run

local run, at, ending, ttl, last = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local id = at .. '-18446744073709551615'
local found = redis.call('XRANGE', run, id, id)[1]
if found then return { 'ENDED', found[2][2] } end
local topAt, there = topOfRun(run)
if topAt ~= at then return { 'GONE' } end
if last ~= '' and there ~= last then return { 'BEHIND', there } end
redis.call('XADD', run, id, 'e', ending, 'l', there)
redis.call('PEXPIRE', run, ttl)
return { 'ENDED', ending }

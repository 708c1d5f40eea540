-- Opens the list of steered messages to a run, or closes it, and returns the messages.
--
-- The first element is the time of the run to which the list is open, with "-" in front where it is closed; then come
-- messages: a name, a blank and the text. Messages that an earlier run did not see stay.
--
-- KEYS: steers.
-- ARGV: the run's time; milliseconds to live; "open" | "close" and the name of the last message that the run knows of,
--   behind which a list that holds more stays open.
-- Replies: HELD and the messages | LATE (a newer run has the list).
--
-- twin: none, runs are kept in Redis only

local steers, at, ttl, how, known = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local head = redis.call('LINDEX', steers, 0)
if head and math.abs(tonumber(head)) > tonumber(at) then return { 'LATE' } end
if not head then
  if how == 'close' then return { 'HELD' } end
  redis.call('RPUSH', steers, at)
end
local held = redis.call('LRANGE', steers, 1, -1)
local isClosed = how == 'close' and (#held == 0 or held[#held]:match('^%S+') == known)
redis.call('LSET', steers, 0, isClosed and '-' .. at or at)
redis.call('PEXPIRE', steers, ttl)
return { 'HELD', unpack(held) }

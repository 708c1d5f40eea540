-- Puts a start at the end of the queue of a session, unless it is there, and says whether it is the first.
--
-- KEYS: queue.
-- ARGV: the start's name; milliseconds to live; the most that may wait.
-- Replies: FIRST | BEHIND and the name of the first | FULL.
--
-- twin: none, runs are kept in Redis only

local queue, start, ttl, most = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
if not redis.call('ZSCORE', queue, start) then
  if redis.call('ZCOUNT', queue, '-inf', '+inf') >= tonumber(most) then return { 'FULL' } end
  local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
  redis.call('ZADD', queue, (tonumber(last[2]) or 0) + 1, start)
end
redis.call('PEXPIRE', queue, ttl)
local first = redis.call('ZRANGEBYSCORE', queue, '-inf', '+inf', 'LIMIT', 0, 1)[1]
if first == start then return { 'FIRST' } end
return { 'BEHIND', first }

-- Puts a start into the queue of a session, unless it is there, and says whether it is the first; or takes it out.
--
-- KEYS: queue.
-- ARGV: the start's name; milliseconds to live; the most that may wait; "back" | "front" | "leave".
-- Replies: FIRST | BEHIND and the name of the first | FULL | STOPPED (somebody stopped it; it has left) | LEFT.
--
-- A start that was stopped stands at infinity until it sees that.
--
-- twin: none, runs are kept in Redis only

local queue, start, ttl, most, how = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local score = redis.call('ZSCORE', queue, start)
if score == 'inf' or how == 'leave' then
  redis.call('ZREM', queue, start)
  return { score == 'inf' and 'STOPPED' or 'LEFT' }
end
if not score then
  if redis.call('ZCOUNT', queue, '-inf', '(+inf') >= tonumber(most) then return { 'FULL' } end
  local edge, step
  if how == 'front' then
    edge, step = redis.call('ZRANGEBYSCORE', queue, '-inf', '(+inf', 'WITHSCORES', 'LIMIT', 0, 1), -1
  else
    edge, step = redis.call('ZREVRANGEBYSCORE', queue, '(+inf', '-inf', 'WITHSCORES', 'LIMIT', 0, 1), 1
  end
  redis.call('ZADD', queue, (tonumber(edge[2]) or 0) + step, start)
end
redis.call('PEXPIRE', queue, ttl)
local first = redis.call('ZRANGEBYSCORE', queue, '-inf', '(+inf', 'LIMIT', 0, 1)[1]
if first == start then return { 'FIRST' } end
return { 'BEHIND', first }

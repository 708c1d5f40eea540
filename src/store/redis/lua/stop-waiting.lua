-- Stops the starts that wait in the queue of a session: those of a turn, or all.
--
-- KEYS: queue.
-- ARGV: the turn, or "" for all.
-- Replies: STOPPED and the names of those that were waiting.
--
-- twin: none, runs are kept in Redis only

local queue, turn, reply = KEYS[1], ARGV[1], { 'STOPPED' }
for _, start in ipairs(redis.call('ZRANGEBYSCORE', queue, '-inf', '(+inf')) do
  if turn == '' or start:match('^%S+ %S+ (.*)$') == turn then
    redis.call('ZADD', queue, '+inf', start)
    reply[#reply + 1] = start
  end
end
return reply

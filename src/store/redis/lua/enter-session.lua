-- Enters a session in an owner's list, and keeps the list at least as long as the session.
--
-- KEYS: sessions.
-- ARGV: the session; GT (never moves back) or NX (stays where it is); its score in microseconds, or "" for now;
--   milliseconds that the session lives, "" for ever, or 0 where its expiry is as it was.
-- Replies: the server's time in microseconds, and 1 if the list did not have the session.
--
-- A list that a session without an expiry entered stays for ever: the write behind an entry may be refused.
--
-- twin: store/in-memory/lists.ts

local list, session, mode, score, life = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local time, left = redis.call('TIME'), redis.call('PTTL', list)
local micros = string.format('%.0f', time[1] * 1000000 + time[2])
local added = redis.call('ZADD', list, mode, score == '' and micros or score, session)
if life == '' then
  redis.call('PERSIST', list)
elseif life ~= '0' and left ~= -1 and left < 1.2 * life then
  redis.call('PEXPIREAT', list, string.format('%.0f', math.floor(micros / 1000 + 1.2 * life)))
end
return {micros, added}

-- Marks an owner as being erased, and returns entries to erase.
--
-- KEYS: sessions, summaries.
-- ARGV: milliseconds that the mark stays, how many entries.
-- Replies: session and stamp of each.
--
-- While the mark exists, summaries are refused; announcements are accepted, so that a session that begins meanwhile is
-- found and erased too.
--
-- twin: model/lists.ts
--
--- @include list-time
--- @include expire-lists
--- @include stamp-of
--- @const firstScore

-- A full server refuses a ZADD, but not behind a first write that frees memory.
redis.call('ZREM', KEYS[1], '')
redis.call('ZADD', KEYS[1], whole(math.floor(micros() / 1000) + ARGV[1]), '!')
redis.call('HSET', KEYS[2], '!', 'erasing')
expireIndex()
local reply = {}
for _, session in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], firstScore, '+inf', 'LIMIT', 0, ARGV[2])) do
  reply[#reply + 1], reply[#reply + 2] = session, stampOf(redis.call('HGET', KEYS[2], session))
end
return reply

-- Ends an erasure, unless other entries than those just erased are left.
--
-- KEYS: sessions, summaries.
-- ARGV: the mark that stays, for how many milliseconds; "1" to end it in any case; sessions that were just erased.
-- Replies: ENDED | MORE.
--
-- Summaries go that no entry names: those of the erased sessions, and where a part of the list was evicted. The mark
-- that stays is new, so that what was read before the end is not written after it: see `put-entries`. Entries that are
-- left at the end in any case were only announced, and hold no content.
--
-- twin: model/lists.ts
--
--- @include list-time
--- @include expire-lists
--- @const firstScore

local erased = 0
for i = 4, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[i]) then erased = erased + 1 end
end
if ARGV[3] ~= '1' and redis.call('ZCOUNT', KEYS[1], firstScore, '+inf') > erased then return 'MORE' end
for i = 4, #ARGV do
  redis.call('ZREM', KEYS[1], ARGV[i], '!' .. ARGV[i])
end
redis.call('ZREM', KEYS[1], '')
for _, session in ipairs(redis.call('HKEYS', KEYS[2])) do
  if not redis.call('ZSCORE', KEYS[1], session) then redis.call('HDEL', KEYS[2], session) end
end
redis.call('ZADD', KEYS[1], whole(math.floor(micros() / 1000) + ARGV[2]), '!')
redis.call('HSET', KEYS[2], '!', ARGV[1])
expireIndex()
return 'ENDED'

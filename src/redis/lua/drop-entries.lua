-- Removes entries of ended sessions from an owner's list (compare-and-delete by stamp).
--
-- KEYS: sessions, summaries.
-- ARGV: grace period of announced entries in milliseconds, whose sessions may be about to be written; session and
--   stamp of each entry.
-- Replies: the number of entries that were removed.
--
-- twin: model/lists.ts
--
--- @include list-time
--- @include stamp-of
--- @include expire-lists

local now, count = micros(), 0
for i = 2, #ARGV, 2 do
  local stamp = stampOf(redis.call('HGET', KEYS[2], ARGV[i]))
  local announced = tonumber(stamp:match('^%?(%d+)'))
  local fresh = announced and now - announced < ARGV[1] * 1000
  if stamp == ARGV[i + 1] and not fresh and redis.call('ZSCORE', KEYS[1], ARGV[i]) then
    redis.call('ZREM', KEYS[1], ARGV[i], '!' .. ARGV[i])
    redis.call('HDEL', KEYS[2], ARGV[i])
    count = count + 1
  end
end
expireIndex()
return count

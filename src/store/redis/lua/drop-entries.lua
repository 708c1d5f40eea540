-- Removes sessions that have ended from an owner's list (compare-and-delete by score).
--
-- KEYS: sessions.
-- ARGV: milliseconds for which an entry stays, because the write behind it may be under way; session and score of each.
-- Replies: OK.
--
-- twin: store/in-memory/lists.ts

local time = redis.call('TIME')
local latest = ARGV[1] == '0' and math.huge or time[1] * 1000000 + time[2] - ARGV[1] * 1000
for i = 2, #ARGV, 2 do
  local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]))
  if score and score == tonumber(ARGV[i + 1]) and score <= latest then redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return 'OK'

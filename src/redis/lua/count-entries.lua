-- The number of an owner's entries that are not past their expiry.
--
-- KEYS: sessions, summaries.
-- ARGV: none.
-- Replies: the number.
--
-- twin: model/lists.ts
--
--- @include list-time
--- @const firstScore

local now = '(' .. whole(math.floor(micros() / 1000))
local mark = tonumber(redis.call('ZSCORE', KEYS[1], '!'))
local expired = redis.call('ZCOUNT', KEYS[1], 1, now) - (mark and mark < tonumber(now:sub(2)) and 1 or 0)
return redis.call('ZCOUNT', KEYS[1], firstScore, '+inf') - expired

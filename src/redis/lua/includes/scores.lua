-- `front()`, a score above all others, and `place(wanted)`, a free one from a score on, found in few steps also among
-- many of one millisecond. Scores are unique, so that a page ends at one of them; they grow even if the clock jumps
-- back.
--
--- @include list-time

local function front()
  local top = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
  return math.max(micros(), tonumber(top or 0) + 1)
end
local function place(wanted)
  local step = 1
  while redis.call('ZCOUNT', KEYS[1], whole(wanted), whole(wanted)) > 0 do wanted, step = wanted + step, 2 * step end
  return wanted
end

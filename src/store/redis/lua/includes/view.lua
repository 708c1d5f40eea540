-- `view(first)`, a reply of fields, records, number of ids, and index of the first record: by default that of the
-- view's start, 0 where the fields do not say it.
--
--- @include numbers
--- @const viewFields

local function view(first)
  local field = redis.call('HMGET', KEYS[3], viewFields)
  local base, start, next = wholeFrom(field[3] or '0'), wholeFrom(field[4] or '0'), wholeFrom(field[5])
  local sound = base and start and next and base <= start and start <= next
  sound = sound and wholeFrom(field[7] or '0') and amountFrom(field[8] or '0')
  first = first or sound and start - base or 0
  return { field, redis.call('LRANGE', KEYS[1], first, -1), redis.call('HLEN', KEYS[2]), first }
end

-- `mend(length, roundsInLog)` repairs the numbers in `state` for a log of that length, and returns its base. Valid
-- numbers stay.
--
-- After the loss of the log, positions continue from `next`, so that none is assigned twice, and the head stays. With
-- an unreadable start, the view is the head and the whole log.
--
--- @include numbers

local function mend(length, roundsInLog)
  local state, number, text = KEYS[3], {}, {}
  local names = { 'base', 'start', 'next', 'headCount', 'rounds', 'tokens', 'fence', 'head' }
  for i, value in ipairs(redis.call('HMGET', state, unpack(names))) do
    text[names[i]], number[names[i]] = value, wholeFrom(value, i == 7 and 2 ^ 53 or nil)
  end
  if text.fence and not number.fence then redis.call('HDEL', state, 'fence') end
  if not text.next and length == 0 then
    redis.call('HDEL', state, 'base', 'start', 'headCount', 'rounds', 'tokens', 'counter', 'head')
    return 0
  end
  if not text.base and number.next == length then number.base = 0 end
  local base, next = number.base or 0, number.next
  local whole = number.base and next and length == next - base
  if not whole and length == 0 then base = next or base end
  if not number.base and next and length > 0 and next >= length then base = next - length end
  if base + length > 5e13 then base = 0 end
  next = base + length
  local start = math.max(number.start or base, base)
  local isBeyond = start > next
  if isBeyond then
    redis.call('HDEL', state, 'head', 'headCount')
    start = base
  end
  local rounds = number.rounds or roundsInLog
  if length > 0 and (not whole or rounds < roundsInLog) or rounds > next then rounds = roundsInLog end
  if not whole or isBeyond or not amountFrom(text.tokens) then
    redis.call('HDEL', state, 'tokens', 'counter')
  end
  if not isBeyond and text.headCount and not number.headCount then
    redis.call('HSET', state, 'headCount', (text.head or '') == '' and 0 or 1)
  end
  redis.call('HSET', state, 'base', base, 'start', start, 'next', next, 'rounds', rounds)
  return base
end

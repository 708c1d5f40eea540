-- `mend(length, roundsInLog)` repairs the numbers in `state` for a log of that length. Valid numbers stay.
--
-- After the loss of the log, positions continue from `next`, so that none is assigned twice, and the head stays. With
-- an unreadable start, the view is the head and the whole log.
--
--- @include numbers
--- @include mended-base

local function mend(length, roundsInLog)
  local state, number, text = KEYS[3], {}, {}
  local names = { 'base', 'start', 'next', 'headCount', 'rounds', 'tokens', 'fence', 'head' }
  for i, value in ipairs(redis.call('HMGET', state, unpack(names))) do
    text[names[i]], number[names[i]] = value, wholeFrom(value, i == 7 and 2 ^ 53 or nil)
  end
  if text.fence and not number.fence then redis.call('HDEL', state, 'fence') end
  if not text.next and length == 0 then
    redis.call('HDEL', state, 'base', 'start', 'headCount', 'rounds', 'tokens', 'counter', 'head')
    return
  end
  if not text.base and number.next == length then number.base = 0 end
  local whole = number.base and number.next and length == number.next - number.base
  local base = mendedBase(number.base, number.next, length)
  local next = base + length
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
end

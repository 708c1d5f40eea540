-- `loadSession()`, all that scripts decide by. A session whose numbers cannot be read or do not fit each other is
-- damaged. Fails on a key of the wrong type. Does not read the head.
--
--- @include numbers

local function loadSession()
  local field = redis.call('HMGET', KEYS[3],
    'epoch', 'rev', 'base', 'start', 'next', 'headCount', 'tokens', 'counter', 'rounds', 'fence', 'key',
    'owner', 'erased', 'label')
  local sound = true
  local function whole(text, most)
    local number = wholeFrom(text or '0', most)
    sound = sound and number ~= nil
    return number or 0
  end
  local s = {
    epoch = field[1] or '', rev = field[2] or '', base = whole(field[3]), start = whole(field[4]),
    next = whole(field[5]), begun = field[5] ~= false, headCount = whole(field[6]),
    tokens = amountFrom(field[7]), counter = field[8] or '',
    rounds = whole(field[9]), fence = whole(field[10], 2 ^ 53), key = field[11] or '',
    owner = field[12] or nil, erased = field[13], label = field[14]
  }
  sound = sound and (not field[7] or s.tokens ~= nil)
  s.length, s.known = redis.call('LLEN', KEYS[1]), redis.call('HLEN', KEYS[2])
  if s.erased then s.next, s.begun = 0, false end
  s.last = s.next
  s.damaged = not sound or s.rounds > s.next or s.length ~= s.next - s.base or s.start < s.base or s.start > s.next
    or s.length > 0 and s.known <= s.length or s.begun and s.epoch == ''
  return s
end

-- `loadSession(state, log, ids, read)`: the fields that scripts depend on. A session is damaged where its numbers
-- cannot be read or do not fit each other, the log or the index of ids; this is the one place that says so for scripts,
-- and `isDamaged` of src/store/redis-store/views.ts says the same of what commands read. Scripts that have the key
-- of `state` only leave log and ids out. `read` is `redis.pcall` for those that go on where `state` is no hash: it
-- counts as empty then. Fails on a key of the wrong type otherwise. Does not read the head. `left` is what other keys
-- say of the owner and of the data key where `state` says nothing of the session; `isNamed` is true where `state`
-- itself names the owner.
--
-- `ownerLeft(state)`: the owner of a session that lost its `state`, by its other keys: { name } as `ids` names the
-- owner, or { marks } as records at both ends of the log bear them; nothing where neither key is left. The names of the
-- keys follow from that of `state`: scripts that are given no other key ask too. `ownerMarkIn` of
-- src/store/contract/append-decision.ts reads the same mark.
--
--- @include numbers
--- @const sumModulus
--- @const ownerField
--- @const keyField
--- @const dekField

local function ownerLeft(state)
  local stem = state:match('^(.*:)state$')
  if not stem then return nil end
  local left = redis.pcall('HMGET', stem .. 'ids', ownerField, keyField, dekField)
  -- Without records, the session begins a new life, with a key of its own.
  if redis.call('EXISTS', stem .. 'log') == 0 then left = { left[1] } end
  if left[1] then return { name = left[1], key = left[2], dek = left[3] } end
  local marks, isLeft = {}, redis.call('EXISTS', stem .. 'ids') == 1
  for _, at in ipairs({ 0, -1 }) do
    local record = redis.pcall('LINDEX', stem .. 'log', at)
    if type(record) == 'string' then
      isLeft = true
      marks[#marks + 1] = record:match('^[^\n]*'):match('"owner":"(%x%x%x%x%x%x%x%x%x%x%x%x)"}}$')
    end
  end
  return isLeft and { marks = marks, key = left[2], dek = left[3] } or nil
end
local function loadSession(state, log, ids, read)
  local field = (read or redis.call)('HMGET', state, 'epoch', 'rev', 'base', 'start', 'next', 'headCount', 'tokens',
    'counter', 'rounds', 'fence', 'key', 'owner', 'erased', 'label', 'sum', 'dek')
  local isHash, sound = not field.err, true
  if not isHash then field = {} end
  local function whole(text, most)
    local number = wholeFrom(text or '0', most)
    sound = sound and number ~= nil
    return number or 0
  end
  local s = {
    epoch = field[1] or '', rev = field[2] or '', base = whole(field[3]), start = whole(field[4]),
    next = whole(field[5]), begun = field[5] and true or false, headCount = whole(field[6]),
    tokens = amountFrom(field[7]), counter = field[8] or '',
    rounds = whole(field[9]), fence = whole(field[10], 2 ^ 53), key = field[11] or '',
    owner = field[12] or nil, erased = field[13], label = field[14], isHash = isHash,
    sum = wholeFrom(field[15] or not field[5] and '0' or nil, sumModulus),
    last = 0, length = 0, known = 0, damaged = false
  }
  sound = sound and (not field[7] or s.tokens ~= nil)
  if s.erased then s.next, s.begun = 0, false end
  s.dek = field[16] or ''
  if not s.owner and not s.begun and not s.erased then s.left = ownerLeft(state) end
  if s.left and s.key == '' then s.key, s.dek = s.left.key or '', s.left.dek or '' end
  s.isNamed, s.owner = s.owner ~= nil, s.owner or s.left and s.left.name
  s.last = s.next
  s.damaged = not sound or s.rounds > s.next or s.start < s.base or s.start > s.next or s.begun and s.epoch == ''
  if log then
    s.length, s.known = redis.call('LLEN', log), redis.call('HLEN', ids)
    s.damaged = s.damaged or s.length ~= s.next - s.base or s.length > 0 and s.known <= s.length
  end
  return s
end

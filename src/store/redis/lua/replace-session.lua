-- Puts a complete copy of a session's log, and its texts, sealed with another data key or with none, in their place,
-- if both are as they were read. Holds, counts, times and marks of turns stay.
--
-- KEYS: log, ids, state; log, ids, state of the copy.
-- ARGV: the request as JSON { owner?, keys?, epoch, cut, base, next, sum?, key?, turns }; for each text of `state`
--   its field, the SHA-1 of what was read, and the new text. `key` is the data key of the copy, `turns` are names of
--   turns whose marks may have changed since.
-- Replies: REPLACED | those of the gate | STALE.
--
-- twin: store/in-memory/session-data.ts
--
--- @include gate
--- @include now
--- @include in-chunks
--- @include expire-all
--- @include log-sum
--- @include note-key
--- @const ownerField
--- @const digestLength
--- @const anyDigest

local log, ids, state, request = KEYS[1], KEYS[2], KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state, log, ids)
-- A call that was made before, and whose reply was lost, is not refused for the key that it set itself.
local isRepeated = request.key and s.key == request.key.key
local refusal = gate(request, s, isRepeated and 'erased owner damaged' or 'erased owner damaged key')
if refusal then return refusal end
if isRepeated then return { 'REPLACED' } end
local function isSame(field, hash)
  local stored = redis.call('HGET', state, field)
  return stored and redis.sha1hex(stored) == hash
end
local cut, staged = redis.call('HGET', state, 'cut'), redis.call('HMGET', KEYS[6], 'next', 'sum')
local same = s.epoch == request.epoch and (cut or '') == request.cut and s.base == request.base
  and s.next == request.next and (s.sum and sumText(s.sum)) == request.sum
  and (s.length == 0 or tonumber(staged[1] or -1) == s.next)
local texts, fields = 0, {}
for _, name in ipairs(redis.call('HKEYS', state)) do
  local isText = name == 'title' or name == 'metadata' or name:sub(1, 5) == 'side:'
  local isHead = name == 'head' and redis.call('HSTRLEN', state, name) > 0
  texts = texts + ((isText or isHead) and 1 or 0)
end
for i = 2, #ARGV, 3 do
  same = same and isSame(ARGV[i], ARGV[i + 1])
  fields[#fields + 1], fields[#fields + 2] = ARGV[i], ARGV[i + 2]
end
if not same or texts ~= (#ARGV - 1) / 3 then return { 'STALE' } end
local left, marks = redis.call('PTTL', state), {}
local function keep(name, text)
  if text then marks[#marks + 1], marks[#marks + 2] = name, text end
end
for _, name in ipairs(request.turns) do keep(name, redis.call('HGET', ids, name)) end
-- Records and turns that were discarded.
local names = s.base > 0 and s.length > 0 and redis.call('HKEYS', ids) or {}
for _, name in ipairs(names) do
  local text = redis.call('HGET', ids, name)
  local position = tonumber(text:match('^-?%d+$', digestLength + 1))
  local isMark = text:find('^[Tt]%d%d%d%d%d%d%d')
  if position and position < s.base then keep(name, isMark and text or anyDigest .. text:sub(digestLength + 1)) end
end
s.key, s.dek = request.key and request.key.key or '', request.key and request.key.dek or ''
for _, field in ipairs({ 'key', s.key, 'dek', s.dek, 'sum', staged[2] or '0' }) do fields[#fields + 1] = field end
inChunks('HSET', state, fields)
if s.key == '' then redis.call('HDEL', state, 'key', 'dek') end
if s.length > 0 then
  redis.call('RENAME', KEYS[4], log)
  redis.call('RENAME', KEYS[5], ids)
  redis.call('UNLINK', KEYS[6])
  inChunks('HSET', ids, marks)
  if s.owner then redis.call('HSET', ids, ownerField, s.owner) end
  keepKey(s, ids)
end
local keys = { log, ids, state }
keepAll(keys)
if left >= 0 then expireAll(now() + left, keys) end
return { 'REPLACED' }

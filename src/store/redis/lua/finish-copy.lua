-- Makes a session of a complete copy.
--
-- KEYS: log, ids, state of the new session; log, ids, state of the copy.
-- ARGV: the request as JSON { epoch, base, next, known, ttl?, expiresAt? }; pairs of field and value for `state`.
--   `known` holds pairs of hash and mark of ids whose records were discarded, and whose messages stand in the head.
-- Replies: FORKED | those of the gate | EXISTS (there is such a session) | LOST (the copy has expired).
--
-- A new session has no owner to check: only the guard of an erasure closes its gate.
--
-- twin: store/in-memory/session-data.ts
--
--- @include gate
--- @include now
--- @include in-chunks
--- @include explain-ids
--- @include note-key
--- @include expire-all
--- @const ownerField

local log, ids, state, request = KEYS[1], KEYS[2], KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state, nil, nil, redis.pcall)
local refusal = gate({}, s, 'erased', function() return s.epoch == request.epoch and { 'FORKED' } end)
if refusal then return refusal end
if redis.call('EXISTS', log, ids, state) > 0 then return { 'EXISTS' } end
local staged, hasRecords = redis.call('HMGET', KEYS[6], 'next', 'rounds', 'sum'), request.next > request.base
if hasRecords and tonumber(staged[1] or -1) ~= request.next then return { 'LOST' } end
local time = now()
local fields = { 'epoch', request.epoch, 'rev', request.epoch, 'created', time, 'updated', time }
local hasLog = request.next > 0
if hasLog then
  local rounds, sum = unpack(hasRecords and { staged[2], staged[3] } or { 0, 0 })
  for _, value in ipairs({ 'base', request.base, 'next', request.next, 'rounds', rounds, 'sum', sum }) do
    fields[#fields + 1] = value
  end
end
local named = {}
for i = 2, #ARGV do
  fields[#fields + 1] = ARGV[i]
  if i % 2 == 0 then named[ARGV[i]] = ARGV[i + 1] end
end
inChunks('HSET', state, fields)
if hasRecords then
  redis.call('RENAME', KEYS[4], log)
  redis.call('RENAME', KEYS[5], ids)
  redis.call('UNLINK', KEYS[6])
end
if named.owner and hasRecords then redis.call('HSET', ids, ownerField, named.owner) end
if named.key and hasRecords then keepKey(named, ids) end
if hasLog then
  explainIds(redis.call('HLEN', ids), #request.known / 2, not hasRecords)
  for i = 1, #request.known, 2 do redis.call('HSETNX', ids, request.known[i], request.known[i + 1]) end
end
local made = hasRecords and { log, ids, state } or KEYS
keepAll(made)
if request.ttl then expireAll(time + request.ttl, made) end
if request.expiresAt then expireAll(request.expiresAt, made) end
return { 'FORKED' }

-- Changes side fields, if all expected values are the stored ones.
--
-- KEYS: state; with a time to live also log and ids, since all keys expire together.
-- ARGV: the request as JSON { epoch, expects, sets, ttl?, bound?, owner?, label?, labelVersion?, expectedEpoch?,
--   fencingToken?, keys? }; `expects` triples of field, "1" or "0" (absent), value; `sets` pairs of field and value;
--   `removes` fields.
-- Replies: OK and the session's owner or "" | CONFLICT | ERASED | OWNER | EPOCH | FENCED | KEY names (the session
--   needs them).
--
-- A session that begins here has no `next` yet: by that its first append knows that no log is missing.
--
-- twin: model/in-memory-session-store.ts
--
--- @include forbid
--- @include refuse-key
--- @include now
--- @include claim
--- @include note-key
--- @include in-chunks
--- @include change-side

local state, request = KEYS[1], cjson.decode(ARGV[1])
local found = redis.call('HMGET', state, 'epoch', 'owner', 'erased', 'label', 'key', 'fence')
local s, key = { owner = found[2] or nil, erased = found[3], label = found[4] }, found[5]
if request.expectedEpoch and request.expectedEpoch ~= (found[1] or '') then return 'EPOCH' end
if request.fencingToken and request.fencingToken < tonumber(found[6] or 0) then return 'FENCED' end
local refusal = forbid(request, s) or refuseKey(request, key)
if refusal then return refusal end
for i = 2, 1 + 3 * request.expects, 3 do
  local stored = redis.call('HGET', state, ARGV[i])
  if (stored and '1' or '0') ~= ARGV[i + 1] or stored and stored ~= ARGV[i + 2] then return { 'CONFLICT' } end
end
local exists = found[1] ~= false
if not exists and request.sets == 0 then return { 'OK', '' } end
local time, firstSet = now(), 2 + 3 * request.expects
local fields = { 'updated', time }
if not exists then fields = { 'updated', time, 'epoch', request.epoch, 'rev', request.epoch, 'created', time } end
for i = firstSet, firstSet + 2 * request.sets - 1 do fields[#fields + 1] = ARGV[i] end
local function set(name, value) fields[#fields + 1] = name; fields[#fields + 1] = value end
claim(request, s, set)
if request.sets > 0 then noteKey(request, key, set) end
inChunks('HSET', state, fields)
changeSide(state, firstSet + 2 * request.sets, #ARGV, request.bound)
if request.ttl then
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, string.format('%.0f', time + request.ttl)) end
end
return { 'OK', s.owner or '' }

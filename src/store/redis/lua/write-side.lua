-- Changes side fields, if all expected values match (compare-and-set).
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { epoch, expects, sets, ttl?, bound?, owner?, label?, labelVersion?, expectedEpoch?,
--   fencingToken?, keys? }; `expects` triples of field, "1" or "0" (absent), value; `sets` pairs of field and value;
--   `removes` fields.
-- Replies: OK and the session's owner or "" | those of the gate | CONFLICT.
--
-- A session created here has no `next` yet, which tells its first append that no log is missing.
--
-- twin: store/in-memory/session-data.ts
--
--- @include gate
--- @include now
--- @include claim
--- @include note-key
--- @include in-chunks
--- @include change-side
--- @include expire-all

local state, request = KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state, KEYS[1], KEYS[2])
local refusal = gate(request, s)
if refusal then return refusal end
for i = 2, 1 + 3 * request.expects, 3 do
  local stored = redis.call('HGET', state, ARGV[i])
  if (stored and '1' or '0') ~= ARGV[i + 1] or stored and stored ~= ARGV[i + 2] then return { 'CONFLICT' } end
end
local exists = s.epoch ~= ''
if not exists and request.sets == 0 then return { 'OK', '' } end
local time, firstSet = now(), 2 + 3 * request.expects
local fields = { 'updated', time }
if not exists then fields = { 'updated', time, 'epoch', request.epoch, 'rev', request.epoch, 'created', time } end
for i = firstSet, firstSet + 2 * request.sets - 1 do fields[#fields + 1] = ARGV[i] end
local function set(name, value) fields[#fields + 1] = name; fields[#fields + 1] = value end
claim(request, s, set)
local noted = request.sets > 0 and noteKey(request, s, set)
inChunks('HSET', state, fields)
if noted and s.length > 0 then keepKey(s, KEYS[2]) end
changeSide(state, firstSet + 2 * request.sets, #ARGV, request.bound)
if request.ttl then expireAll(time + request.ttl) end
return { 'OK', s.owner or '' }

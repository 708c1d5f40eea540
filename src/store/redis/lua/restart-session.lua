-- Clears a session under a hold: the hold stays, and the session gets a new epoch.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { fencingToken, expectedEpoch, newEpoch, owner? }.
-- Replies: CLEARED and the session's owner or "" | those of the gate.
--
-- Idempotent: a retry after a lost reply finds its own `newEpoch`.
--
-- twin: store/in-memory/holds.ts
--
--- @include gate
--- @include keep-fields
--- @include now

local state, request = KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state)
local function repeated() return s.epoch == request.newEpoch and { 'CLEARED', '' } end
local refusal = gate(request, s, 'erased owner epoch fence', repeated)
if refusal then return refusal end
local field = redis.call('HMGET', state, 'fence', 'holder', 'waiters')
local epoch, at = request.newEpoch, string.format('%.0f', now())
local kept = { 'epoch', epoch, 'rev', epoch, 'created', at, 'updated', at }
for i, name in ipairs({ 'fence', 'holder', 'waiters' }) do
  if field[i] then kept[#kept + 1], kept[#kept + 2] = name, field[i] end
end
redis.call('UNLINK', KEYS[1], KEYS[2])
keepFields(state, nil, unpack(kept))
return { 'CLEARED', s.owner or '' }

-- Clears a session under a hold: the hold stays, and the session gets a new epoch.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { fencingToken, expectedEpoch, newEpoch, owner? }.
-- Replies: CLEARED and the session's owner or "" | those of the gate.
--
-- Idempotent: a retry after a lost reply finds its own `newEpoch`.
--
-- twin: model/holds.ts
--
--- @include gate
--- @include expire-all
--- @include now

local state, request = KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state)
local function repeated() return s.epoch == request.newEpoch and { 'CLEARED', '' } end
local refusal = gate(request, s, 'erased owner epoch fence', repeated)
if refusal then return refusal end
local field = redis.call('HMGET', state, 'fence', 'holder', 'waiters')
local left, time = redis.call('PTTL', state), now()
redis.call('UNLINK', unpack(KEYS))
local epoch, at = request.newEpoch, string.format('%.0f', time)
redis.call('HSET', state, 'epoch', epoch, 'rev', epoch, 'created', at, 'updated', at)
for i, name in ipairs({ 'fence', 'holder', 'waiters' }) do
  if field[i] then redis.call('HSET', state, name, field[i]) end
end
if left >= 0 then expireAll(time + left) end
return { 'CLEARED', s.owner or '' }

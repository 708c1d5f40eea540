-- Deletes a session; keeps the guard (tombstone) of an erasure. Under a hold, that stays, and the session gets a new
-- epoch.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner?, newEpoch?, fencingToken?, expectedEpoch? }, the last three under a hold; the
--   epoch that the session had.
-- Replies: CLEARED and the session's owner or "" | those of the gate. A session of another epoch was cleared
--   and recreated meanwhile, perhaps after a lost reply of this call: it stays. Under a hold, a call that is sent again
--   finds its own `newEpoch`.
--
-- twin: store/in-memory/in-memory-session-store.ts
--
--- @include gate
--- @include keep-fields
--- @include now

local state, request = KEYS[3], cjson.decode(ARGV[1])
local s, epoch = loadSession(state, nil, nil, redis.pcall), request.newEpoch
local refusal = gate(request, s, epoch and 'erased owner epoch fence' or 'owner', function()
  return epoch and s.epoch == epoch and { 'CLEARED', '' }
end)
if refusal then return refusal end
if not epoch and s.epoch ~= ARGV[2] then return { 'CLEARED', s.owner or '' } end
redis.call('UNLINK', KEYS[1], KEYS[2])
if epoch then
  local at, kept = string.format('%.0f', now()), {}
  for _, name in ipairs({ 'fence', 'holder', 'waiters' }) do
    local value = redis.call('HGET', state, name)
    if value then kept[#kept + 1], kept[#kept + 2] = name, value end
  end
  keepFields(state, nil, 'epoch', epoch, 'rev', epoch, 'created', at, 'updated', at, unpack(kept))
elseif not s.erased then
  redis.call('UNLINK', state)
end
return { 'CLEARED', s.owner or '' }

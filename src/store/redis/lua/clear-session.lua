-- Deletes a session; keeps the guard (tombstone) of an erasure.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; the epoch that the session had.
-- Replies: CLEARED and the session's owner or "" | those of the gate. A session of another epoch was cleared
--   and recreated meanwhile, perhaps after a lost reply of this call: it stays.
--
-- twin: store/in-memory/in-memory-session-store.ts
--
--- @include gate

local s = loadSession(KEYS[3], nil, nil, redis.pcall)
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
if s.epoch ~= ARGV[2] then return { 'CLEARED', s.owner or '' } end
redis.call('UNLINK', KEYS[1], KEYS[2])
if not s.erased then redis.call('UNLINK', KEYS[3]) end
return { 'CLEARED', s.owner or '' }

-- A part of the log with the state, for a server that refuses MULTI.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; index of the first and of the last record.
-- Replies: PAGE, fields, records, length of the log, number of ids | those of the gate.
--
-- twin: store/in-memory/session.ts
--
--- @include gate
--- @const viewFields

local s = loadSession(KEYS[3])
local refusal = gate(cjson.decode(ARGV[1]), s, s.left and 'owner key' or 'owner')
if refusal then return refusal end
local field = redis.call('HMGET', KEYS[3], viewFields)
local records = redis.call('LRANGE', KEYS[1], ARGV[2], ARGV[3])
return { 'PAGE', field, records, redis.call('LLEN', KEYS[1]), redis.call('HLEN', KEYS[2]) }

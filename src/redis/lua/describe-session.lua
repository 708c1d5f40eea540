-- The details of a session: owner, label, times and counts.
--
-- KEYS: state.
-- ARGV: the request as JSON { owner?, full }; `full` for the metadata even if a list would show less of it.
-- Replies: OK, the server's time in microseconds, milliseconds to live (-1: for ever), the fields, the metadata | NONE
--   | those of the gate.
--
-- twin: model/owners.ts
--
--- @include gate
--- @const describedFields

local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[1])
local refusal = gate(request, s, 'owner')
if refusal then return refusal end
if s.epoch == '' then return { request.owner and s.left and 'DAMAGED' or 'NONE' } end
local field = redis.call('HMGET', KEYS[1], describedFields)
local metadata = (request.full or not field[12]) and redis.call('HGET', KEYS[1], 'metadata')
local time = redis.call('TIME')
local micros = string.format('%.0f', time[1] * 1000000 + time[2])
return { 'OK', micros, redis.call('PTTL', KEYS[1]), field, metadata }

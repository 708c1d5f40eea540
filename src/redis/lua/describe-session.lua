-- What is kept about a session besides its messages and side data.
--
-- KEYS: state.
-- ARGV: the owner who asks, or ""; "1" for the metadata even if a list would show less of it.
-- Replies: OK, the server's time in microseconds, milliseconds to live (-1: for ever), the fields, the metadata | NONE
--   | OWNER.
--
-- twin: model/owners.ts
--
--- @const describedFields

local field = redis.call('HMGET', KEYS[1], describedFields)
if not field[1] then return { 'NONE' } end
if ARGV[1] ~= '' and field[2] and field[2] ~= ARGV[1] then return { 'OWNER' } end
local metadata = (ARGV[2] == '1' or not field[12]) and redis.call('HGET', KEYS[1], 'metadata')
local time = redis.call('TIME')
local micros = string.format('%.0f', time[1] * 1000000 + time[2])
return { 'OK', micros, redis.call('PTTL', KEYS[1]), field, metadata }

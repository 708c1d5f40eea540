-- A part of the log with the state, for a server that refuses MULTI.
--
-- KEYS: log, ids, state.
-- ARGV: index of the first and of the last record.
-- Replies: fields, records, length of the log, number of ids.
--
-- twin: model/session.ts
--
--- @const viewFields

local field = redis.call('HMGET', KEYS[3], viewFields)
local records = redis.call('LRANGE', KEYS[1], ARGV[1], ARGV[2])
return { field, records, redis.call('LLEN', KEYS[1]), redis.call('HLEN', KEYS[2]) }

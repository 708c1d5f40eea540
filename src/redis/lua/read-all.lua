-- A part of the log, and what a rebuild must find unchanged, also where `state` is no hash.
--
-- KEYS: log, ids, state.
-- ARGV: index of the first and of the last record.
-- Replies: records; epoch, rev, base and next, each empty if it is missing.
--
-- twin: model/session.ts

local records = redis.call('LRANGE', KEYS[1], ARGV[1], ARGV[2])
local field = redis.pcall('HMGET', KEYS[3], 'epoch', 'rev', 'base', 'next')
if field.err then field = {} end
return { records, { field[1] or '', field[2] or '', field[3] or '', field[4] or '' } }

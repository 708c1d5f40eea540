-- A part of the log, and what a rebuild compares, also if `state` is not a hash.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; index of the first and of the last record.
-- Replies: LOG, records, a list of epoch, rev, base and next, each empty if it is missing, the position of the first
--   record of the log, the number of fields of `ids`, the owner or "" | those of the gate.
--
-- twin: store/in-memory/session.ts
--
--- @include gate
--- @include mended-base

local s = loadSession(KEYS[3], nil, nil, redis.pcall)
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner key')
if refusal then return refusal end
local records = redis.call('LRANGE', KEYS[1], ARGV[2], ARGV[3])
local field = s.isHash and redis.call('HMGET', KEYS[3], 'epoch', 'rev', 'base', 'next') or {}
local base = mendedBase(wholeFrom(field[3]), wholeFrom(field[4]), redis.call('LLEN', KEYS[1]))
local known = redis.pcall('HLEN', KEYS[2])
local fields = { field[1] or '', field[2] or '', field[3] or '', field[4] or '' }
return { 'LOG', records, fields, base, type(known) == 'number' and known or 0, s.owner or '' }

-- Replaces the wrapped data key of a session by one that another master key wrapped, if it is as it was read.
--
-- KEYS: ids, state.
-- ARGV: the request as JSON { owner? }; `key` and `dek`, with a space between them, as they were read; the new ones.
-- Replies: REWRAPPED | those of the gate | CHANGED.
--
-- twin: store/in-memory/in-memory-session-store.ts
--
--- @include gate
--- @const keyField
--- @const dekField

local ids, state, s = KEYS[1], KEYS[2], loadSession(KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
if s.key .. ' ' .. s.dek ~= ARGV[2] then return { 'CHANGED' } end
if not s.left then redis.call('HSET', state, 'key', ARGV[3], 'dek', ARGV[4]) end
if redis.call('HEXISTS', ids, keyField) == 1 then redis.call('HSET', ids, keyField, ARGV[3], dekField, ARGV[4]) end
return { 'REWRAPPED' }

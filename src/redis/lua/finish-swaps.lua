-- Ends a pass that replaced texts, if no other key wrote since it began.
--
-- KEYS: state.
-- ARGV: the request as JSON { owner? }; epoch; the field `key` as the pass's beginning left it; the field's new value.
-- Replies: FINISHED | those of the gate | CHANGED (another key wrote, or the session was recreated).
--
-- twin: model/edits.ts
--
--- @include gate

local s = loadSession(KEYS[1])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
if s.epoch ~= ARGV[2] or s.key ~= ARGV[3] then return { 'CHANGED' } end
redis.call('HSET', KEYS[1], 'key', ARGV[4])
return { 'FINISHED' }

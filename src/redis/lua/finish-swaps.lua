-- Ends a pass that replaced texts, if no other key wrote since it began.
--
-- KEYS: state.
-- ARGV: epoch, the field `key` as the pass's beginning left it, the field's new value.
-- Replies: 1 | 0.
--
-- twin: model/record-swaps.ts

local field = redis.call('HMGET', KEYS[1], 'epoch', 'key')
if field[1] ~= ARGV[1] or field[2] ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'key', ARGV[3])
return 1

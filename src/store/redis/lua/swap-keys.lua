-- Replaces the data keys of a hash, if they are as they were read.
--
-- KEYS: the hash.
-- ARGV: the keys as they were read; the new ones.
-- Replies: SWAPPED | CHANGED.
--
-- twin: none, threads and items are kept in Redis only
--
--- @const keysField

if redis.call('HGET', KEYS[1], keysField) ~= ARGV[1] then return { 'CHANGED' } end
redis.call('HSET', KEYS[1], keysField, ARGV[2])
return { 'SWAPPED' }

-- Releases a lease, if the token still holds it.
--
-- KEYS: lease.
-- ARGV: token.
-- Replies: RELEASED | NOT_HELD.
--
-- twin: store/in-memory/session-data.ts

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return { 'NOT_HELD' } end
redis.call('UNLINK', KEYS[1])
return { 'RELEASED' }

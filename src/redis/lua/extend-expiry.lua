-- Lets a session that has an expiry live so much longer from now. The guard of an erasure ends when it was to end.
--
-- KEYS: log, ids, state.
-- ARGV: milliseconds; the owner who asks, or "".
-- Replies: EXTENDED and the session's owner or "" | UNCHANGED (it does not expire, or does not exist) | OWNER.
--
-- twin: model/in-memory-session-store.ts
--
--- @include expire-all
--- @include now

local field = redis.call('HMGET', KEYS[3], 'owner', 'epoch')
if ARGV[2] ~= '' and field[1] and field[1] ~= ARGV[2] then return { 'OWNER' } end
if not field[2] or redis.call('PTTL', KEYS[3]) < 0 then return { 'UNCHANGED' } end
expireAll(now() + ARGV[1])
return { 'EXTENDED', field[1] or '' }

-- Renews a hold.
--
-- KEYS: state.
-- ARGV: ticket, milliseconds.
-- Replies: HELD milliseconds-to-live | LOST.
--
-- No gate: the ticket, known to its holder only, authorizes the call; the reply reveals nothing of the session.
--
-- twin: store/in-memory/session-data.ts
--
--- @include holder
--- @include now

local holder, _, fence = holderOf(redis.call('HGET', KEYS[1], 'holder'))
if holder ~= ARGV[1] then return { 'LOST' } end
redis.call('HSET', KEYS[1], 'holder', string.format('%s %.0f %s', holder, now() + ARGV[2], fence))
return { 'HELD', redis.call('PTTL', KEYS[1]) }

-- Extends the expiry of a session that has one, from now. Does not extend the guard of an erasure.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner?, ttl }.
-- Replies: EXTENDED and the session's owner or "" | UNCHANGED (it does not expire, or does not exist) | those of the
--   gate.
--
-- twin: store/in-memory/session-data.ts
--
--- @include gate
--- @include expire-all
--- @include now

local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(request, s, 'owner')
if refusal then return refusal end
if s.epoch == '' or redis.call('PTTL', KEYS[3]) < 0 then return { 'UNCHANGED' } end
expireAll(now() + request.ttl)
return { 'EXTENDED', s.owner or '' }

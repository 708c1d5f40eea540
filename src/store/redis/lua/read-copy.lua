-- The whole state of a session, without its log.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }.
-- Replies: STATE, epoch, number of records, 1 where damaged, when it expires or "", fields and values of `state`, and
--   its data key or "" | NONE | those of the gate.
--
-- twin: store/in-memory/copies.ts
--
--- @include gate
--- @include now

local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner key')
if refusal then return refusal end
-- Only ids without a message: a new session begins.
if s.erased or (s.epoch == '' and s.length == 0 and (s.known == 0 or not s.damaged)) then return { 'NONE' } end
local left = redis.call('PTTL', KEYS[3])
local expires = left >= 0 and string.format('%.0f', now() + left) or ''
return { 'STATE', s.epoch, s.length, s.damaged and 1 or 0, expires, redis.call('HGETALL', KEYS[3]), s.key }

-- All fields of a session's `state`.
--
-- KEYS: state.
-- ARGV: the request as JSON { owner? }.
-- Replies: STATE field value field value … | those of the gate.
--
-- twin: model/forks.ts
--
--- @include gate

local refusal = gate(cjson.decode(ARGV[1]), loadSession(KEYS[1]), 'owner')
if refusal then return refusal end
local reply = { 'STATE' }
for i, text in ipairs(redis.call('HGETALL', KEYS[1])) do reply[i + 1] = text end
return reply

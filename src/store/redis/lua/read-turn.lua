-- The stored records of a turn.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; the turn's name.
-- Replies: TURN done count first next epoch records; count 0 where it is not known | those of the gate | UNREADABLE.
--
-- twin: store/in-memory/turns.ts
--
--- @include gate
--- @include stored-turn

local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner key')
if refusal then return refusal end
local reply = storedTurn(s, { name = ARGV[2], stored = -1 })
return reply[1] == 'TURN' and reply or { 'UNREADABLE' }

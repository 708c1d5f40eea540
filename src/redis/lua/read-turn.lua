-- What is stored of a turn.
--
-- KEYS: log, ids, state.
-- ARGV: the turn's name; the owner who asks, or "".
-- Replies: OWNER | TURN done count first next epoch records; count 0 where it is not known.
--
-- twin: model/turns.ts
--
--- @include load-session
--- @include stored-turn

local s = loadSession()
if ARGV[2] ~= '' and s.owner and s.owner ~= ARGV[2] then return { 'OWNER' } end
return storedTurn(s, { name = ARGV[1], stored = -1 })

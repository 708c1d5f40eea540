-- The marks of turns.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; names of turns.
-- Replies: MARKS and a list of them, each in the form that a field of its own has, "" where there is none | those of
--   the gate.
--
-- twin: model/turns.ts
--
--- @include gate
--- @include read-mark

local refusal = gate(cjson.decode(ARGV[1]), loadSession(KEYS[3]), 'owner')
if refusal then return refusal end
local marks = {}
for i = 2, #ARGV do marks[i - 1] = markText(readMark(ARGV[i])) end
return { 'MARKS', marks }

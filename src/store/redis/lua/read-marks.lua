-- The marks of turns, and what is stored under ids of messages.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; the number of turns; their names; hashes of ids.
-- Replies: MARKS and a list of them, each in the form that a field of its own has, "" where there is none; a list of
--   digests and positions, "" where there is none | those of the gate.
--
-- twin: store/in-memory/session-data.ts
--
--- @include gate
--- @include turn-marks

local refusal = gate(cjson.decode(ARGV[1]), loadSession(KEYS[3]), 'owner')
if refusal then return refusal end
local marks, known, count = {}, {}, tonumber(ARGV[2])
for i = 1, count do marks[i] = markText(readMark(ARGV[i + 2])) end
for i = count + 3, #ARGV do known[#known + 1] = redis.call('HGET', KEYS[2], ARGV[i]) or '' end
return { 'MARKS', marks, known }

-- The marks of turns.
--
-- KEYS: log, ids, state.
-- ARGV: names of turns.
-- Replies: the session's owner or "", and the marks, each in the form that a field of its own has, "" where there is
--   none.
--
-- twin: model/turns.ts
--
--- @include read-mark

local marks = {}
for i, name in ipairs(ARGV) do marks[i] = markText(readMark(name)) end
return { redis.call('HGET', KEYS[3], 'owner') or '', marks }

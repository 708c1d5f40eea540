-- The view, for a process that does not know the start yet, and the values of some fields of `ids`.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; fields of `ids`.
-- Replies: VIEW, fields, records, number of ids, index of the first record, the values of ARGV | those of the gate.
--
-- twin: model/session.ts
--
--- @include gate
--- @include view

local s = loadSession(KEYS[3])
local refusal = gate(cjson.decode(ARGV[1]), s, s.left and 'owner key' or 'owner')
if refusal then return refusal end
local reply, found = view(), {}
for first = 2, #ARGV, 7000 do
  for _, value in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, first, math.min(first + 6999, #ARGV)))) do
    found[#found + 1] = value
  end
end
return { 'VIEW', reply[1], reply[2], reply[3], reply[4], found }

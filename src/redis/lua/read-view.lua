-- The view, where this process does not know the start yet, and what `ids` holds for some fields.
--
-- KEYS: log, ids, state.
-- ARGV: fields of `ids`.
-- Replies: fields, records, number of ids, index of the first record, the values of ARGV.
--
-- twin: model/session.ts
--
--- @include view

local reply, found = view(), {}
for first = 1, #ARGV, 7000 do
  for _, value in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, first, math.min(first + 6999, #ARGV)))) do
    found[#found + 1] = value
  end
end
reply[5] = found
return reply

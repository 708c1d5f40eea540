-- Side fields whose names begin with a prefix.
--
-- KEYS: state.
-- ARGV: the request as JSON { owner? }; the prefix as it stands in `state`.
-- Replies: SIDE field value field value … | those of the gate.
--
-- twin: store/in-memory/session-data.ts
--
--- @include gate

local refusal = gate(cjson.decode(ARGV[1]), loadSession(KEYS[1]), 'owner key')
if refusal then return refusal end
local found = { 'SIDE' }
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if name:sub(1, #ARGV[2]) == ARGV[2] then
    found[#found + 1] = name
    found[#found + 1] = redis.call('HGET', KEYS[1], name)
  end
end
return found

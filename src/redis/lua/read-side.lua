-- Side fields whose names begin with a prefix.
--
-- KEYS: state.
-- ARGV: the prefix as it stands in `state`; the owner who asks, or "".
-- Replies: OWNER, or field, value, field, value, …
--
-- twin: model/in-memory-session-store.ts

local found, owner = {}, redis.call('HGET', KEYS[1], 'owner')
if ARGV[2] ~= '' and owner and owner ~= ARGV[2] then return { 'OWNER' } end
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if name:sub(1, #ARGV[1]) == ARGV[1] then
    found[#found + 1] = name
    found[#found + 1] = redis.call('HGET', KEYS[1], name)
  end
end
return found

-- Removes a limited number of items in a range of names; for the range of everything, all keys at once, damaged or not.
--
-- KEYS: values, names, expiry.
-- ARGV: lower and upper bound, "-" and "+" for everything; the limit.
-- Replies: OK number of removed items | DAMAGED.
--
-- twin: none, LangGraph's InMemoryStore has no such call
--
--- @include items

local count, isDamaged = loadStore()
if ARGV[1] == '-' then
  call('UNLINK', unpack(KEYS))
  return { 'OK', count }
end
if isDamaged then return { 'DAMAGED' } end
local found = call('ZRANGEBYLEX', names, ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
if #found > 0 then
  removeItems(found)
  expireStore()
end
return { 'OK', #found }

-- Reads and writes items of long-term memory in the order of ARGV; the client puts reads in front of writes.
--
-- KEYS: values, names, expiry.
-- ARGV: for each operation its name, the number of its arguments, and these:
--   get name | touch name (lets an item that is kept alive by reads live on)
--   search: lower and upper bound of names, number to pass over, number, most, 1 for a read that keeps items alive
--   list: lower and upper bound of names, depth or "" (of namespaces), number, most
--   put: name, text, ttl or "", ttl at reads or "" | delete name
-- Replies: OK and a reply for each: get: record or nil; search: names and records by turns; list: namespaces; MANY
--   where search or list would have to go through more than `most`; else 0 | DAMAGED.
--
-- twin: none, LangGraph's InMemoryStore does the same in memory
--
--- @include change-items

local _, isDamaged = loadStore()
if isDamaged then return { 'DAMAGED' } end
local replies, at = { 'OK' }, 1
while at <= #ARGV do
  local count = tonumber(ARGV[at + 1])
  replies[#replies + 1] = run[ARGV[at]](unpack(ARGV, at + 2, at + 1 + count)) or false
  at = at + 2 + count
end
if isChanged then
  removeExpired(100)
  expireStore()
end
return replies

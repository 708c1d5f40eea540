-- Reads and writes items of long-term memory in the order of ARGV; the client puts reads before writes, and puts before
-- deletes.
--
-- KEYS: values, names, expiry.
-- ARGV: the data key of the writer, or ""; for each operation its name, the number of its arguments, and these:
--   get name
--   search: lower and upper bound of names, offset, limit, maximum to scan, 1 to extend expiries
--   list: lower and upper bound of names, labels to truncate namespaces to or "", limit, maximum to scan
--   put: name, text, ttl or "", ttl on read or "" | delete name
-- Replies: OK and one reply per operation: get: record or nil; search: alternating names and records; list: namespaces;
--   MANY if search or list would exceed the maximum to scan; else 0 | DAMAGED.
--
-- twin: none, LangGraph's InMemoryStore does the same in memory
--
--- @include change-items

local _, isDamaged = loadStore()
if isDamaged then return { 'DAMAGED' } end
local replies, at = { 'OK' }, 2
while at <= #ARGV do
  local count = tonumber(ARGV[at + 1])
  replies[#replies + 1] = run[ARGV[at]](unpack(ARGV, at + 2, at + 1 + count)) or false
  at = at + 2 + count
end
removeExpired(100)
if isChanged then expireStore() end
return replies

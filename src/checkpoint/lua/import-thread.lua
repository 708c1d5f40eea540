-- Writes a copy of a whole thread, where there is none yet.
--
-- KEYS: items, checkpoints, order.
-- ARGV: the request as JSON { items, fields, ttl? }, the numbers of what follows; the items; the fields and values of
--   `checkpoints`; scores and members of `order`.
-- Replies: OK | EXISTS.
--
-- twin: none, LangGraph's MemorySaver copies nothing
--
--- @include write-record

local request = cjson.decode(ARGV[1])
if call('EXISTS', unpack(KEYS)) > 0 then return { 'EXISTS' } end
local lastItem = 1 + request.items
local lastField = lastItem + request.fields
inChunks('HSET', checkpoints, ARGV, lastItem + 1, lastField)
inChunks('RPUSH', items, ARGV, 2, lastItem)
inChunks('ZADD', order, ARGV, lastField + 1)
expireThread(request.ttl)
return { 'OK' }

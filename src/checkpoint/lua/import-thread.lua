-- Writes a copy of a whole thread, where there is none yet.
--
-- KEYS: items, checkpoints, order.
-- ARGV: the request as JSON { items, fields, token, count, ttl? }, the numbers of what follows and what tells a copy;
--   the items; the fields and values of `checkpoints`; scores and members of `order`.
-- Replies: OK | EXISTS. A thread that is this copy still, because the call was sent before, is OK. ERASED.
--
-- twin: none, LangGraph's MemorySaver copies nothing
--
--- @include write-record

local request = cjson.decode(ARGV[1])
local thread = loadThread()
if isErased then return { 'ERASED' } end
if thread then
  local isCopy = thread.token == request.token and thread.count == request.count
  return { isCopy and not thread.isDamaged and 'OK' or 'EXISTS' }
end
local lastItem = 1 + request.items
local lastField = lastItem + request.fields
inChunks('HSET', checkpoints, ARGV, lastItem + 1, lastField)
inChunks('RPUSH', items, ARGV, 2, lastItem)
inChunks('ZADD', order, ARGV, lastField + 1)
expireThread(request.ttl)
return { 'OK' }

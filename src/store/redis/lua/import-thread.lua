-- Writes a whole thread of LangGraph, where there is none yet.
--
-- KEYS: items, checkpoints, order.
-- ARGV: the request as JSON { items, fields, token, count, keys?, ttl? }, the numbers of what follows, what tells a
--   copy, the data keys; the items; the fields and values of `checkpoints`; scores and members of `order`.
-- Replies: OK | SAME (it is there and has not changed since, as after a call that was sent before) | EXISTS | ERASED.
--
-- twin: none, threads are kept in Redis only
--
--- @include in-chunks
--- @include expire-all
--- @include now
--- @const keysField

local items, checkpoints, order = KEYS[1], KEYS[2], KEYS[3]
local call = redis.call
local request = cjson.decode(ARGV[1])
local field = call('HMGET', checkpoints, 'token', 'count', 'erased')
if field[3] then return { 'ERASED' } end
if call('EXISTS', items, checkpoints, order) > 0 then
  local isCopy = field[1] == request.token and tonumber(field[2]) == request.count
  local isWhole = call('LLEN', items) == request.items and call('ZCARD', order) == request.count
  local fields = call('HLEN', checkpoints) - call('HEXISTS', checkpoints, keysField)
  return { isCopy and isWhole and fields == request.fields / 2 and 'SAME' or 'EXISTS' }
end
local lastItem = 1 + request.items
local lastField = lastItem + request.fields
inChunks('HSET', checkpoints, ARGV, lastItem + 1, lastField)
if request.keys then call('HSET', checkpoints, keysField, request.keys) end
inChunks('RPUSH', items, ARGV, 2, lastItem)
inChunks('ZADD', order, ARGV, lastField + 1)
if request.ttl then expireAll(now() + request.ttl) end
return { 'OK' }

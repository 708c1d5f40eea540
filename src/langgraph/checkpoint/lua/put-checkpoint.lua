-- Stores a checkpoint and the items that it brings, and drops old checkpoints where there are too many.
--
-- KEYS: items, checkpoints, order.
-- ARGV: the request as JSON { token (a random one, for the thread's next one), expected? (the token with which the
--   positions in the record were read), key? (the writer's data key), owner?, isFirst (it has no parent), ttl?, keep?,
--   most? (prunes to `keep` where the root namespace has more) }; the member `<namespace> NUL <id>`; the record
--   without its base; the items.
-- Replies: OK base token (before) token (now, or "" where items were dropped) | STALE | DAMAGED | ERASED.
--
-- The same record with the same items again changes nothing. The first write is an HSET, which a full server refuses.
--
-- twin: none, LangGraph's MemorySaver does the same in memory
--
--- @include thread-gate
--- @include same-record
--- @include write-record
--- @include add-key
--- @include prune-records

local request, member, tail, field = cjson.decode(ARGV[1]), ARGV[2], ARGV[3], 'c' .. ARGV[2]
local thread = loadThread()
if isErased and not (isCleared and request.isFirst) then return { 'ERASED' } end
local refusal = refuses(thread)
if refusal then return refusal end
local stored = thread and call('HGET', checkpoints, field)
local base = stored and baseOfSame(thread, stored, tail, 4)
if base then
  expireThread(request.ttl)
  return { 'OK', base, thread.token, thread.token }
end
refusal = refuses(thread, request.expected)
if refusal then return refusal end
thread = thread or begin(request.token)
if isErased then
  call('HDEL', checkpoints, 'erased')
  call('PERSIST', checkpoints)
end
addKey(checkpoints, request.key)
nameOwner(request.owner)
local before = thread.token
base = thread.next
call('HSET', checkpoints, field, string.format('%.0f', base) .. '|' .. tail)
if call('ZADD', order, 0, member) == 1 then thread.count = thread.count + 1 end
call('HSET', checkpoints, 'count', thread.count)
pushItems(thread, 4, request.token)
local isFull = request.keep and call('ZLEXCOUNT', order, '[\0', '(\1') > request.most
local isDropped = isFull and prune(thread, request.keep, request.token)
expireThread(request.ttl)
return { 'OK', base, before, isDropped and '' or thread.token }

-- Removes a thread of LangGraph, whole or damaged, and leaves a tombstone: the field `erased` of `checkpoints`.
--
-- KEYS: items, checkpoints, order.
-- ARGV: the request as JSON { owner?, isNamelessOwn, guardMs? }: whose thread goes, true to remove also one that names
--   nobody, how long the tombstone stays; without `guardMs` none is left, and one that is there stays.
-- Replies: GONE and "1" if there was a thread | KEPT (it is another owner's, or nobody's).
--
-- twin: none, threads are kept in Redis only
--
--- @include expire-all
--- @include now

local request = cjson.decode(ARGV[1])
local found = redis.pcall('HMGET', KEYS[2], 'owner', 'erased')
local owner, erased = found[1] or nil, found[2] or nil
local isThread = not erased and redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0
local isOwn = not request.owner or owner == request.owner or not owner and request.isNamelessOwn
if isThread and not isOwn then return { 'KEPT' } end
if erased and not request.guardMs then return { 'GONE', '0' } end
local left = erased and redis.call('PTTL', KEYS[2]) or 0
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
if request.guardMs then
  redis.call('HSET', KEYS[2], 'erased', string.format('%.0f', now()))
  expireAll(now() + math.max(left, request.guardMs))
end
return { 'GONE', isThread and '1' or '0' }

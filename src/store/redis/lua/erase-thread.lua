-- Removes a thread of LangGraph, whole or damaged, and leaves a tombstone: the field `erased` of `checkpoints`.
--
-- KEYS: items, checkpoints, order; or checkpoints alone, where the others are missing: a Cluster refuses a script that
--   names missing keys of a slot that is being moved.
-- ARGV: the request as JSON { owner?, isNamelessOwn, guardMs?, isCleared? }: whose thread goes, true to remove also one
--   that names nobody, how long the tombstone stays (without it none is left, and one that is there stays), and true
--   where a new thread may begin: the tombstone, which only a thread leaves then, refuses what continues that thread.
-- Replies: GONE and "1" if there was a thread | KEPT (it is another owner's, or nobody's) | WHOLE (a thread has begun,
--   and its other keys are not named).
--
-- twin: none, threads are kept in Redis only
--
--- @include keep-fields
--- @include now

local request, key = cjson.decode(ARGV[1]), KEYS[2] or KEYS[1]
local found = redis.pcall('HMGET', key, 'owner', 'erased')
local owner, erased = found[1] or nil, found[2] or nil
local isThread = not erased and redis.call('EXISTS', unpack(KEYS)) > 0
local isOwn = not request.owner or owner == request.owner or not owner and request.isNamelessOwn
if isThread and not isOwn then return { 'KEPT' } end
if isThread and #KEYS == 1 then return { 'WHOLE' } end
if not isThread and (request.isCleared or not request.guardMs) then return { 'GONE', '0' } end
local left = erased and redis.call('PTTL', key) or 0
if KEYS[2] then redis.call('UNLINK', KEYS[1], KEYS[3]) end
if request.guardMs then
  keepFields(key, now() + math.max(left, request.guardMs), 'erased',
    request.isCleared and 'cleared' or string.format('%.0f', now()))
else
  redis.call('UNLINK', key)
end
return { 'GONE', isThread and '1' or '0' }

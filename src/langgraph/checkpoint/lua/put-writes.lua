-- Stores what a task wrote beside a checkpoint, which may come later, and the items that this brings.
--
-- KEYS: items, checkpoints, order.
-- ARGV: the request as JSON { token (a random one, for the thread's next one), expected? (the token with which the
--   positions in the record were read), key? (the writer's data key), owner?, ttl? }; the member `<namespace> NUL
--   <id>` of the checkpoint; the record without its base; the items.
-- Replies: OK base token (before) token (now) | STALE | DAMAGED | ERASED.
--
-- The same record with the same items again changes nothing. The first write is an HSET, which a full server refuses.
--
-- twin: none, LangGraph's MemorySaver does the same in memory
--
--- @include thread-gate
--- @include records
--- @include same-record
--- @include write-record
--- @include add-key

local request, tail, field = cjson.decode(ARGV[1]), ARGV[3], 'w' .. ARGV[2]
local thread = loadThread()
if isErased then return { 'ERASED' } end
local refusal = refuses(thread)
if refusal then return refusal end
local stored = thread and call('HGET', checkpoints, field)
local base, before
for record in writesOf(stored) do base = base or baseOfSame(thread, record, tail, 4) end
if not base then
  refusal = refuses(thread, request.expected)
  if refusal then return refusal end
  thread = thread or begin(request.token)
  addKey(checkpoints, request.key)
  nameOwner(request.owner)
  before, base = thread.token, thread.next
  local record = string.format('%.0f', base) .. '|' .. tail
  call('HSET', checkpoints, field, stored and stored .. '\n' .. record or record)
  pushItems(thread, 4, request.token)
end
expireThread(request.ttl)
return { 'OK', base, before or thread.token, thread.token }

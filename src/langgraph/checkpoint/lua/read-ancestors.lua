-- The ancestors of a checkpoint with their writes, the nearest first, without items.
--
-- KEYS: items, checkpoints, order.
-- ARGV: the namespace; the id, or "" for the newest; the number.
-- Replies: OK page (member, record, writes of each) | NONE | DAMAGED.
--
-- twin: none, LangGraph's MemorySaver does the same in memory
--
--- @include thread-gate
--- @include members
--- @include records

local ns, id, count = ARGV[1], ARGV[2], tonumber(ARGV[3])
local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
local member = id ~= '' and ns .. '\0' .. id or newestOf(ns)
local record = thread and member and call('HGET', checkpoints, 'c' .. member)
if not record then return { 'NONE' } end
local page = {}
while record and #page < 3 * count do
  local _, _, _, parent = record:match(recordPattern)
  if (parent or '') == '' then break end
  member = ns .. '\0' .. parent
  local writes
  record, writes = unpack(call('HMGET', checkpoints, 'c' .. member, 'w' .. member))
  if record then
    page[#page + 1] = member
    page[#page + 1] = record
    page[#page + 1] = writes or ''
  end
end
return { 'OK', page, {} }

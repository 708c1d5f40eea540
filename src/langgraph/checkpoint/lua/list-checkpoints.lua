-- A page of checkpoints with their writes and the items that they name, the newest first.
--
-- KEYS: items, checkpoints, order.
-- ARGV: upper and lower bound of members, as ZREVRANGEBYLEX takes them; the number.
-- Replies: OK page (member, record, writes of each) items (first position and list, each) | NONE | DAMAGED.
--
-- twin: none, LangGraph's MemorySaver does the same in memory
--
-- A checkpoint of which only the record is lost has an empty one.
--
--- @include thread-gate
--- @include record-spans
--- @include read-spans

local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
if not thread then return { 'NONE' } end
local members = call('ZREVRANGEBYLEX', order, ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local page, spans, seen = {}, {}, {}
for _, member in ipairs(members) do
  if member ~= '' then
    local record, writes = unpack(call('HMGET', checkpoints, 'c' .. member, 'w' .. member))
    page[#page + 1] = member
    page[#page + 1] = record or ''
    page[#page + 1] = writes or ''
    addSpansOf(thread, record, writes, spans, seen)
  end
end
return { 'OK', page, readSpans(thread, spans) }

-- A page of checkpoints with their writes, the newest first, without items.
--
-- KEYS: items, checkpoints, order.
-- ARGV: upper and lower bound of members, as ZREVRANGEBYLEX takes them; the number.
-- Replies: OK token page (member, record, writes of each) | NONE | DAMAGED.
--
-- twin: none, LangGraph's MemorySaver does the same in memory
--
--- @include thread-gate

local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
if not thread then return { 'NONE' } end
local page = {}
for _, member in ipairs(call('ZREVRANGEBYLEX', order, ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])) do
  if member ~= '' then
    local record, writes = unpack(call('HMGET', checkpoints, 'c' .. member, 'w' .. member))
    page[#page + 1] = member
    page[#page + 1] = record or ''
    page[#page + 1] = writes or ''
  end
end
return { 'OK', thread.token, page }

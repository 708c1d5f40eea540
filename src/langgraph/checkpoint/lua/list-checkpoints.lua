-- A page of checkpoints with their writes and the items that they name, the newest first.
--
-- KEYS: items, checkpoints, order.
-- ARGV: upper and lower bound of members, as ZREVRANGEBYLEX takes them; the number.
-- Replies: OK page (member, record, writes of each) items (first position and list, each) | NONE | DAMAGED.
--
-- twin: none, LangGraph's MemorySaver does the same in memory
--
--- @include thread-gate
--- @include pages

local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
if not thread then return { 'NONE' } end
local members = call('ZREVRANGEBYLEX', order, ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
return readPage(thread, members)

-- Reads checkpoints, their writes and the items that they name; those that were dropped are left out.
--
-- KEYS: items, checkpoints, order.
-- ARGV: the members.
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
return readPage(thread, ARGV)

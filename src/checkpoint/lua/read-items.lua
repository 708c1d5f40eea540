-- Reads the items that records name.
--
-- KEYS: items, checkpoints, order.
-- ARGV: the token with which the records were read; base and ranges of each.
-- Replies: OK items (first position and list, each) | STALE | DAMAGED.
--
-- twin: none, LangGraph's MemorySaver does the same in memory
--
--- @include thread-gate
--- @include read-spans

local thread = loadThread()
local refusal = refuses(thread, ARGV[1])
if refusal then return refusal end
local spans, seen = {}, {}
for i = 2, #ARGV, 2 do addSpans(thread, ARGV[i + 1], ARGV[i] + 0, spans, seen) end
return { 'OK', readSpans(thread, spans) }

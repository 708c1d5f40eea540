-- Drops all but the newest checkpoints of a thread, and what only they need.
--
-- KEYS: items, checkpoints, order.
-- ARGV: number of checkpoints of the root namespace that stay; a random token, for the thread's next one.
-- Replies: OK dropped (number of checkpoints) | NONE | DAMAGED.
--
-- twin: none, LangGraph's MemorySaver drops nothing
--
--- @include thread-gate
--- @include prune-records

local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
if not thread then return { 'NONE' } end
local count = thread.count
prune(thread, tonumber(ARGV[1]), ARGV[2])
return { 'OK', count - thread.count }

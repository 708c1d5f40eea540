-- Reads a checkpoint, its writes and the items that they name.
--
-- KEYS: items, checkpoints, order.
-- ARGV: ttl or ""; the namespace; ids, of which the first that is stored is read, with its writes; none or "" for the
--   newest.
-- Replies: OK token member record writes items (first position and list, each) | NONE token oldest (no such
--   checkpoint; the token is "" for no thread) | DAMAGED. The record is nil where a checkpoint has writes only;
--   `oldest`, the oldest member of the root namespace or "", follows then too.
--
-- twin: none, LangGraph's MemorySaver does the same in memory
--
--- @include thread-gate
--- @include members
--- @include record-spans
--- @include read-spans
--- @include write-record

local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
if not thread then return { 'NONE', '' } end
if ARGV[1] ~= '' then expireThread(ARGV[1]) end
local ns, member, record, writes = ARGV[2], nil, nil, nil
for i = 3, math.max(3, #ARGV) do
  local id = ARGV[i] or ''
  if not record and not writes then
    member = id == '' and newestOf(ns) or ns .. '\0' .. id
    record, writes = unpack(call('HMGET', checkpoints, 'c' .. member, 'w' .. member))
    if not record and call('ZSCORE', order, member) then return { 'DAMAGED' } end
  end
end
if not record and not writes then return { 'NONE', thread.token, oldestRoot() } end
local spans, seen = {}, {}
addSpansOf(thread, record, writes, spans, seen)
local oldest = not record and oldestRoot() or nil
return { 'OK', thread.token, member, record or false, writes or '', readSpans(thread, spans), oldest }

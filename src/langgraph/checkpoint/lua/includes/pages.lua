-- `readPage(thread, members)` is the reply for checkpoints: a list of member, record and writes of each, and the items
-- that they name. A member that is no checkpoint (any more) is left out. Where only
-- the record is lost, it is empty.
--
--- @include record-spans
--- @include read-spans

local function readPage(thread, members)
  local page, spans, seen = {}, {}, {}
  for _, member in ipairs(members) do
    local record, writes = unpack(call('HMGET', checkpoints, 'c' .. member, 'w' .. member))
    if member ~= '' and (record or call('ZSCORE', order, member)) then
      page[#page + 1] = member
      page[#page + 1] = record or ''
      page[#page + 1] = writes or ''
      addSpansOf(thread, record, writes, spans, seen)
    end
  end
  return { 'OK', page, readSpans(thread, spans) }
end

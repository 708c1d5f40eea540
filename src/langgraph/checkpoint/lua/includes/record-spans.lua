-- `addSpansOf(thread, record, writes, spans, seen)` adds the positions that the record of a checkpoint and those of its
-- writes name; nil for none. False at the first that the thread does not have.
--
--- @include records
--- @include spans

local function addSpansOf(thread, record, writes, spans, seen)
  local base, ranges = (record or ''):match(recordPattern)
  if base and not addSpans(thread, ranges, base + 0, spans, seen) then return false end
  for line in writesOf(writes) do
    base, ranges = line:match(recordPattern)
    if base and not addSpans(thread, ranges, base + 0, spans, seen) then return false end
  end
  return true
end

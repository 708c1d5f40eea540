-- `prune(thread, keep, token)` drops all but the newest checkpoints and what they need, with their writes, writes whose
-- checkpoint never came, and items that nothing else names. Returns the spans of items that were emptied; none, and the
-- same token, where no item went. The records are read first, so that nothing is dropped where one cannot be read.
--
--- @include kept-records
--- @include drop-items
--- @include in-chunks

local function spansOf(thread, record, spans, seen)
  local base, ranges = (record.checkpoint or ''):match(recordPattern)
  if base and not addSpans(thread, ranges, base + 0, spans, seen) then return false end
  for line in writesOf(record.writes) do
    base, ranges = line:match(recordPattern)
    if base and not addSpans(thread, ranges, base + 0, spans, seen) then return false end
  end
  return true
end

local function prune(thread, keep, token)
  local records = loadRecords()
  if not keepNewest(records, keep) then return {} end
  keepAncestors(records)
  local kept, lost, keptSeen, lostSeen, fields, members = {}, {}, {}, {}, {}, {}
  for member, record in pairs(records) do
    if record.stays then
      if not spansOf(thread, record, kept, keptSeen) then return {} end
    else
      spansOf(thread, record, lost, lostSeen)
      if record.checkpoint then
        fields[#fields + 1] = 'c' .. member
        members[#members + 1] = member
      end
      if record.writes then fields[#fields + 1] = 'w' .. member end
    end
  end
  if #fields == 0 then return {} end
  inChunks('HDEL', checkpoints, fields)
  inChunks('ZREM', order, members)
  thread.count = thread.count - #members
  call('HSET', checkpoints, 'count', thread.count)
  return dropItems(thread, kept, lost, token)
end

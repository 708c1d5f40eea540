-- `prune(thread, keep, seed)` drops all but the newest checkpoints and what they need, with their writes, writes whose
-- checkpoint never came, and items that nothing else names. Returns true where items went, else the token is the same.
-- The records are read first, so that nothing is dropped where one cannot be read.
--
--- @include kept-records
--- @include record-spans
--- @include drop-items
--- @include in-chunks

local function prune(thread, keep, seed)
  local records = loadRecords()
  if not keepNewest(records, keep) then return false end
  keepAncestors(records, thread.count)
  local kept, lost, keptSeen, lostSeen, fields, members = {}, {}, {}, {}, {}, {}
  for member, record in pairs(records) do
    if record.stays then
      if not addSpansOf(thread, record.checkpoint, record.writes, kept, keptSeen) then return false end
    else
      addSpansOf(thread, record.checkpoint, record.writes, lost, lostSeen)
      if record.checkpoint then
        fields[#fields + 1] = 'c' .. member
        members[#members + 1] = member
      end
      if record.writes then fields[#fields + 1] = 'w' .. member end
    end
  end
  if #fields == 0 then return false end
  inChunks('HDEL', checkpoints, fields)
  inChunks('ZREM', order, members)
  thread.count = thread.count - #members
  call('HSET', checkpoints, 'count', thread.count)
  return dropItems(thread, kept, lost, seed)
end

-- `writeEntries(first, last, entries, from)` writes entries behind those in fields from `first` to `last`.
--
--- @const discardedEntryLength
--- @const discardedChunkLength

local function writeEntries(first, last, entries, from)
  local chunk = last >= first and redis.call('HGET', KEYS[3], 'discarded:' .. last) or nil
  if not chunk or #chunk >= discardedChunkLength then last, chunk = last + 1, '' end
  while from <= #entries do
    local room = math.floor((discardedChunkLength - #chunk) / discardedEntryLength)
    local to = math.min(#entries, from + room - 1)
    redis.call('HSET', KEYS[3], 'discarded:' .. last, chunk .. table.concat(entries, '', from, to))
    from, chunk, last = to + 1, '', to < #entries and last + 1 or last
  end
  return last
end

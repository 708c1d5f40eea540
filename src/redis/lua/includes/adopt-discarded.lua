-- `adoptDiscarded(packed)` copies entries of the source, except those whose message the copy holds.
--
--- @include write-discarded
--- @const digestLength
--- @const idHashLength
--- @const discardedEntryLength

local function adoptDiscarded(packed)
  local entries = {}
  for at = 1, #packed, discardedEntryLength do
    local digest = packed:sub(at + idHashLength, at + (idHashLength + digestLength - 1))
    if redis.call('HSETNX', KEYS[2], packed:sub(at, at + (idHashLength - 1)), digest .. '-1') == 1 then
      entries[#entries + 1] = packed:sub(at, at + (discardedEntryLength - 1))
    end
  end
  if #entries == 0 then return end
  redis.call('HSET', KEYS[3], 'discarded', '1 ' .. writeEntries(1, 0, entries, 1) .. ' ' .. #entries)
end

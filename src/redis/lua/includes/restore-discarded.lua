-- `restoreDiscarded()` restores the discarded ids in `ids`, with a position before every log, and rewrites the fields
-- that hold them, without unreadable entries.
--
--- @include in-chunks
--- @const digestLength
--- @const idHashLength
--- @const discardedEntryLength

local function restoreDiscarded()
  local numbers, texts, last, count = {}, {}, 0, 0
  for _, name in ipairs(redis.call('HKEYS', KEYS[3])) do
    local number = name:match('^discarded:(%d+)$')
    if number then numbers[#numbers + 1] = number end
  end
  table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
  for _, number in ipairs(numbers) do
    local chunk = redis.call('HGET', KEYS[3], 'discarded:' .. number)
    redis.call('HDEL', KEYS[3], 'discarded:' .. number)
    if #chunk % discardedEntryLength == 0 and chunk:match('^[%w_-]+$') then texts[#texts + 1] = chunk end
  end
  redis.call('HDEL', KEYS[3], 'discarded')
  for i, chunk in ipairs(texts) do
    local entries = {}
    for at = 1, #chunk, discardedEntryLength do
      entries[#entries + 1] = chunk:sub(at, at + (idHashLength - 1))
      entries[#entries + 1] = chunk:sub(at + idHashLength, at + (idHashLength + digestLength - 1)) .. '-1'
    end
    redis.call('HSET', KEYS[3], 'discarded:' .. i, chunk)
    inChunks('HSET', KEYS[2], entries, 1, #entries)
    last, count = i, count + #entries / 2
  end
  if last > 0 then redis.call('HSET', KEYS[3], 'discarded', '1 ' .. last .. ' ' .. count) end
end

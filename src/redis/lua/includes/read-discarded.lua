-- reads the stored entries of discarded ids, and makes those for newly discarded ones.
--
--- @include now
--- @const digestLength
--- @const idHashLength

local function readDiscarded()
  local first, last, count = (redis.call('HGET', KEYS[3], 'discarded') or ''):match('^(%d+) (%d+) (%d+)$')
  return tonumber(first or 1), tonumber(last or 0), tonumber(count or 0)
end
local function newEntries(hashes, to)
  local length, second, entries = idHashLength, string.format('%010d', math.floor(now() / 1000)), {}
  for first = 1, #hashes, 5000 * length do
    local fields = {}
    for at = first, math.min(first + 5000 * length, #hashes + 1) - length, length do
      fields[#fields + 1] = hashes:sub(at, at + length - 1)
    end
    for i, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(fields))) do
      local position = stored and tonumber(stored:sub(digestLength + 1))
      if position and position < to then
        entries[#entries + 1] = fields[i] .. stored:sub(1, digestLength) .. second
      end
    end
  end
  return entries
end

-- `forget(hashes, from, to)` removes those of the hashes, `idHashLength` characters each, whose position lies in
-- [from, to), and counts them.
--
--- @include in-chunks
--- @const digestLength
--- @const idHashLength

local function forget(hashes, from, to)
  local count, length = 0, idHashLength
  for first = 1, #hashes, 5000 * length do
    local fields, gone = {}, {}
    for at = first, math.min(first + 5000 * length, #hashes + 1) - length, length do
      fields[#fields + 1] = hashes:sub(at, at + length - 1)
    end
    for i, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(fields))) do
      local position = stored and tonumber(stored:sub(digestLength + 1))
      if position and position >= from and position < to then
        gone[#gone + 1] = fields[i]
      end
    end
    inChunks('HDEL', KEYS[2], gone)
    count = count + #gone
  end
  return count
end

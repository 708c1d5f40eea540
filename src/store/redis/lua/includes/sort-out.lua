-- `sortOut(s, count, digests)` finds among the pairs of hash and digest from ARGV[2] on those that are known, in the
-- log or as discarded, also under one of `digests`, which plain records have: number of repetitions, conflicts, both as
-- a set of indexes; nothing if one of them cannot be read.
--
--- @const digestLength
--- @const anyDigest

local function sortOut(s, count, digests)
  local hashes, known, duplicates, conflicts = {}, {}, 0, {}
  for i = 1, count do hashes[i] = ARGV[2 * i] end
  for first = 1, count, 7000 do
    local found = redis.call('HMGET', KEYS[2], unpack(hashes, first, math.min(first + 6999, count)))
    for offset = 1, #found do
      local stored, i = s.begun and found[offset], first + offset - 1
      local position = stored and stored:match('^%-?%d+$', digestLength + 1)
      if stored and not (position and tonumber(position) < s.last) then return nil end
      if stored and tonumber(position) < s.next then
        known[i] = true
        local digest = stored:sub(1, digestLength)
        local same = digest == ARGV[2 * i + 1]:sub(1, digestLength) or digests and digest == digests[i]
        if same or digest == anyDigest then
          duplicates = duplicates + 1
        else
          conflicts[#conflicts + 1] = i - 1
        end
      end
    end
  end
  return known, duplicates, conflicts
end

-- `compareKeys(request, s, conflicts)` returns a reply with the stored records of ids with another digest, if the
-- writer asks for them: another key may have made it. A discarded record has left its digest.
--
--- @const digestLength

local function compareKeys(request, s, conflicts)
  if #conflicts == 0 or not (request.keys and request.keys.compare) then return end
  local records, digests = {}, {}
  for i, index in ipairs(conflicts) do
    local stored = redis.call('HGET', KEYS[2], ARGV[2 * index + 2])
    local place = stored:sub(digestLength + 1) - s.base
    records[i], digests[i] = place >= 0 and redis.call('LINDEX', KEYS[1], place) or '', stored:sub(1, digestLength)
  end
  return { 'DIFFERS', s.next, s.epoch, conflicts, records, digests }
end

-- `repeatedAppend(request, s)` returns the reply to a repeated append. Else nothing, and how the append relates to the
-- log: the mark of its turn, the known records, the number of duplicates and of fresh records, the conflicts, whether
-- all is stored already, and whether the log ends where a cut expects it.
--
-- The turn is open and the same (2 in place of `done`) where its count is as this append would leave it and all ids are
-- known, also as discarded. A cut that is sent again finds its own `newRev` and is answered as the first was. An append
-- that began the session, all of which is stored, is not refused for the epoch that it gave the session. The digests
-- of plain records differ from those of a writer that seals, who is asked for them where a session may hold any.
-- `sortOut(s, count, digests)` finds, of the pairs of hash and digest from ARGV[2] on, those that are known, in the log
-- or as discarded, also under one of `digests`, which plain records have: both as a set of indexes, number of
-- repetitions, conflicts; nothing if one of them cannot be read.
--
--- @include stored-turn
--- @include exceeds
--- @include view
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
local function isSame(request, s, reply)
  if reply[2] == 1 or request.count == 0 or reply[3] ~= request.turn.stored + request.count then return false end
  local _, duplicates = sortOut(s, request.count, request.digests)
  return duplicates == request.count
end
local function repeatedTurn(request, s, reply)
  if isSame(request, s, reply) then reply[2] = 2 end
  if exceeds(request, s, s.next, s.tokens, s.counter) then reply[8] = view() end
  return reply
end
local function repeatedCut(request, s)
  local shown = exceeds(request, s, s.next, s.tokens, s.counter) and view() or ''
  return { 'OK', request.count, 0, {}, s.next, s.epoch, shown, s.owner or '' }
end
local function repeatedAppend(request, s)
  local cut, reply, mark = request.cut
  if cut and s.rev == cut.newRev then return repeatedCut(request, s) end
  if request.turn then reply, mark = storedTurn(s, request.turn) end
  if reply then return repeatedTurn(request, s, reply) end
  local atEnd = not cut or s.next == cut.next
  s.next = cut and cut.to or s.next
  local known, duplicates, conflicts = sortOut(s, request.count, request.digests)
  if not known then return { 'DAMAGED' } end
  local fresh = request.count - duplicates - #conflicts
  local mayBePlain = request.keys and not request.digests and (s.key == '' or s.key:find('^%S+ %S+ plain$'))
  if #conflicts > 0 and mayBePlain then return { 'DIFFERS' } end
  local repeats = request.count > 0 and fresh == 0 and (#conflicts == 0 or request.keep)
  if repeats and request.expectedEpoch == '' then request.expectedEpoch = s.epoch end
  return nil, mark, known, duplicates, fresh, conflicts, repeats, atEnd
end

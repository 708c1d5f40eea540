-- `checkTurnAndCut(request, s)` returns a reply if damage, a missing key, the turn's mark or the session's state
-- forbids it; else nothing and the mark, and `s.next` is where the log is to be cut.
--
-- The turn is open and the same (2 in place of `done`) where its count is as this append would leave it and all ids
-- are known, also as discarded: the append was made, and its reply was lost.
--
-- A cut whose reply was lost and that is sent again finds its own `newRev` and is answered as the first was.
--
--- @include sort-out
--- @include refuse-key
--- @include stored-turn
--- @include exceeds
--- @include view
--- @include as-read

local function isSame(request, s, reply)
  if reply[2] == 1 or request.count == 0 or reply[3] ~= request.turn.stored + request.count then return false end
  local _, duplicates = sortOut(s, request.count)
  return duplicates == request.count
end
local function checkTurnAndCut(request, s)
  local cut, turn, reply, mark = request.cut, request.turn
  if cut and s.rev == cut.newRev then return { 'OK', request.count, 0, {}, s.next, s.epoch } end
  if s.damaged then return { 'DAMAGED' } end
  reply = refuseKey(request, s.key)
  if reply then return reply end
  if turn then reply, mark = storedTurn(s, turn) end
  if reply and #reply > 1 and isSame(request, s, reply) then reply[2] = 2 end
  if reply and exceeds(request, s, s.next, s.tokens, s.counter) then reply[8] = view() end
  if reply then return reply end
  if cut and (s.next ~= cut.next or not isAsRead(s, cut)) then return { 'STALE' } end
  if cut and cut.to < s.base then return { 'RANGE' } end
  s.next = cut and cut.to or s.next
  return nil, mark
end

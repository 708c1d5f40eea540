-- `storedTurn(s, turn)` compares a claim with the turn's mark. Returns a reply if they differ, else nothing and the
-- mark; for a mark that cannot be read `DAMAGED`. `markTurn(turn, mark, count, first)` adds `count` to its records.
--
--- @include turn-marks

local function storedTurn(s, turn)
  local mark = s.begun and readMark(turn.name) or nil
  if mark and mark.unreadable then return { 'DAMAGED' } end
  local first, done, count = mark and mark.first or s.next, mark and mark.kind == 'T', mark and mark.count or 0
  if not done and count == turn.stored then return nil, mark end
  local from, to = math.max(first, s.base) - s.base, first + count - 1 - s.base
  local records = to >= from and redis.call('LRANGE', KEYS[1], from, to) or {}
  return { 'TURN', done and 1 or 0, count, first, s.next, s.epoch, records }
end
local function markTurn(turn, mark, count, first)
  writeMark(turn.name, turn.done and 'T' or 't', (mark and mark.count or 0) + count, mark and mark.first or first)
end

-- `markTurn(turn, mark, count, first)` adds `count` to the stored records of a turn.
--
--- @include write-mark

local function markTurn(turn, mark, count, first)
  writeMark(turn.name, turn.done and 'T' or 't', (mark and mark.count or 0) + count, mark and mark.first or first)
end

-- `mendedBase(base, next, length)`, the position of the first record of a log of that length, by the numbers that are
-- left: nil for one that is lost.

local function mendedBase(base, next, length)
  if length == 0 then base = next or base
  elseif not base and next and next >= length then base = next - length end
  return base and base + length <= 5e13 and base or 0
end

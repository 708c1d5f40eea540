-- `rememberTurns(names)` adds packed names to the turns whose records are gone and whose marks stay, and forgets the
-- oldest of more than `maxDiscardedTurns`. The field `turns` of `state` holds them in order.
--
--- @include write-mark
--- @const turnNameLength
--- @const maxDiscardedTurns

local function rememberTurns(names)
  if #names == 0 then return end
  local all, length = (redis.call('HGET', KEYS[3], 'turns') or '') .. names, turnNameLength
  local surplus = math.max(0, #all - length * maxDiscardedTurns)
  for at = 1, surplus, length do writeMark(all:sub(at, at + length - 1)) end
  redis.call('HSET', KEYS[3], 'turns', all:sub(surplus + 1))
end

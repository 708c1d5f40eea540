-- `restoreTurns(base)` marks the turns that `state` names as discarded, where that can be read, and those that
-- ARGV names.
--
--- @include write-mark
--- @const turnNameLength

local function discardedTurns()
  local names = redis.call('HGET', KEYS[3], 'turns') or ''
  if #names % turnNameLength ~= 0 or names:match('[^%w_-]') then
    redis.call('HDEL', KEYS[3], 'turns')
    names = ''
  end
  local marks = {}
  for at = 1, #names, turnNameLength do
    marks[names:sub(at, at + (turnNameLength - 1))] = { 'T', 0, 0 }
  end
  return marks
end
local function restoreTurns(base)
  local marks = discardedTurns()
  for i = 3, #ARGV, 3 do
    local kind, count = ARGV[i + 1]:match('^([Tt])(%d+)$')
    marks[ARGV[i]] = { kind, tonumber(count), base + ARGV[i + 2] }
  end
  for name, mark in pairs(marks) do writeMark(name, unpack(mark)) end
end

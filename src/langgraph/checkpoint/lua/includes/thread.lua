-- `loadThread()` is what is known of the thread: its token, the position of the first item that is left, the position
-- of the next one, and the number of members of `order`; nil where there is no thread. `isDamaged` if the three keys do
-- not fit: one was evicted or deleted, or a part of one. `isErased` is true from then on where a tombstone is
-- left of it (erase-thread.lua), `isCleared` where a new thread may begin.

local items, checkpoints, order = KEYS[1], KEYS[2], KEYS[3]
local call = redis.call
local isErased, isCleared = false, false

local function loadThread()
  local field = call('HMGET', checkpoints, 'token', 'base', 'next', 'count', 'erased')
  isErased, isCleared = field[5] and true or false, field[5] == 'cleared'
  if isErased then return nil end
  local length, members = call('LLEN', items), call('ZCARD', order)
  if length == 0 and members == 0 and call('EXISTS', checkpoints) == 0 then return nil end
  local thread = { token = field[1], base = tonumber(field[2]), next = tonumber(field[3]), count = tonumber(field[4]) }
  local isWhole = thread.token and thread.base and thread.next and thread.count
  thread.isDamaged = not isWhole or length ~= thread.next - thread.base or members ~= thread.count
  return thread
end

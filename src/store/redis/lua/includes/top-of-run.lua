-- `topOfRun(run)`: the two halves of the newest entry's id, the time of its run and the number of its batch, and its
-- fields; nothing where there is none.

local function topOfRun(run)
  local top = redis.call('XREVRANGE', run, '+', '-', 'COUNT', 1)[1]
  if not top then return nil end
  local at, batch = top[1]:match('^(%d+)-(%d+)$')
  return at, batch, top[2]
end

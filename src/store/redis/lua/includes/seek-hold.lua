-- `seekHold(state, wish, fence)` asks for the hold: { ticket, holdMs, graceMs }; `fence` is the session's. Returns the
-- number of waiters before the ticket where it has to wait, whose place in the line is kept then. Else a table for
-- `keepHold(state, hold)`, which takes it: until then nothing is written.
--
--- @include holder

local function seekHold(state, wish, fence)
  local clock, field = redis.call('TIME'), redis.call('HMGET', state, 'holder', 'waiters')
  local time = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local holder, ends, own = holderOf(field[1])
  local ticket, ending = wish.ticket, string.format(' %.0f ', time + wish.holdMs)
  if holder == ticket then return { fence = own, holder = ticket .. ending .. own } end
  local left = holder and ends - time or -1
  if left > 10 * wish.holdMs then
    -- Further away than a lease ends: the clock has fallen back.
    left = wish.holdMs
    redis.call('HSET', state, 'holder', holder .. ending .. own)
  end
  local waiters, ahead, mine = {}, nil, string.format('%s %.0f', ticket, time)
  for other, seen in (field[2] or ''):gmatch('(%S+) (%d+)') do
    if other == ticket then
      ahead = #waiters
      waiters[#waiters + 1] = mine
    elseif math.abs(time - seen) <= wish.graceMs then
      waiters[#waiters + 1] = other .. ' ' .. seen
    end
  end
  if not ahead then
    ahead = #waiters
    waiters[#waiters + 1] = mine
  end
  if ahead > 0 or left >= 0 then
    redis.call('HSET', state, 'waiters', table.concat(waiters, ' '))
    return ahead
  end
  table.remove(waiters, 1)
  local new = string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], fence + 1))
  return { fence = new, holder = ticket .. ending .. new, waiters = field[2] and table.concat(waiters, ' ') }
end
local function keepHold(state, hold)
  redis.call('HSET', state, 'fence', hold.fence, 'holder', hold.holder)
  if hold.waiters == '' then
    redis.call('HDEL', state, 'waiters')
  elseif hold.waiters then
    redis.call('HSET', state, 'waiters', hold.waiters)
  end
end

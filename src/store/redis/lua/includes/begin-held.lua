-- `beginHeld(state, s, request)` takes the hold that `seekHold` found, and begins the session where there is none:
-- { epoch, ttlMs? }. Returns the epoch.
--
--- @include seek-hold
--- @include now
--- @include expire-all

local function beginHeld(state, s, request, hold)
  keepHold(state, hold)
  if s.epoch ~= '' then return s.epoch end
  local time = now()
  redis.call('HSET', state, 'epoch', request.epoch, 'rev', request.epoch, 'created', time, 'updated', time)
  if request.ttlMs then expireAll(time + request.ttlMs) end
  return request.epoch
end

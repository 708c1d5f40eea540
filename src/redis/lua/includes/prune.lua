-- `prune(limit)` removes entries past their expiry, the oldest first. Never fails: if the server
-- refuses writes they stay, and readers skip them.
--
--- @include list-time

local function prune(limit)
  local now = '(' .. whole(math.floor(micros() / 1000))
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], 1, now, 'LIMIT', 0, limit)) do
    local session = name:sub(2)
    redis.pcall('ZREM', KEYS[1], name, session)
    redis.pcall('HDEL', KEYS[2], session == '' and '!' or session)
  end
end

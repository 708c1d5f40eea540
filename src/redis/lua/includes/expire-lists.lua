-- `expireIndex()` sets the expiry of both keys to that of the last of their sessions, and none while a session has
-- none.
--
--- @const firstScore

local function expireIndex()
  local listed = redis.call('ZCOUNT', KEYS[1], firstScore, '+inf')
  local mortal = redis.call('ZCOUNT', KEYS[1], 1, '(' .. firstScore) - (redis.call('ZSCORE', KEYS[1], '!') and 1 or 0)
  local last = redis.call('ZREVRANGEBYSCORE', KEYS[1], '(' .. firstScore, 1, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  for _, key in ipairs(KEYS) do
    if listed > mortal then redis.call('PERSIST', key) elseif last then redis.call('PEXPIREAT', key, last) end
  end
end

-- `keepAll()` removes the expiry of all keys of the script, the opposite of `expireAll`.

local function keepAll()
  for _, key in ipairs(KEYS) do redis.call('PERSIST', key) end
end

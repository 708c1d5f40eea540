-- `keepAll()` lets all keys that the script was given live on: the opposite of `expireAll`.

local function keepAll()
  for _, key in ipairs(KEYS) do redis.call('PERSIST', key) end
end

-- `keepAll(keys)` removes the expiry of keys, nil: of all keys of the script. The opposite of `expireAll`.

local function keepAll(keys)
  for _, key in ipairs(keys or KEYS) do redis.call('PERSIST', key) end
end

-- `expireAll(at, keys)` sets the same expiry, in milliseconds of server time, on keys, nil: on all keys of the script.
-- The only place that sets an expiry of a session, except the short path of an append; `keepFields` keeps a given one.
-- `keepAll(keys)` removes the expiry of keys, nil: of all keys of the script.

local function expireAll(at, keys)
  local text = string.format('%.0f', at)
  for _, key in ipairs(keys or KEYS) do redis.call('PEXPIREAT', key, text) end
end
local function keepAll(keys)
  for _, key in ipairs(keys or KEYS) do redis.call('PERSIST', key) end
end

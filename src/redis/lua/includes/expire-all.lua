-- `expireAll(at)` sets the same expiry, in milliseconds of server time, on all keys of the script. The only place
-- that sets an expiry of a session, except the short path of an append.

local function expireAll(at)
  local text = string.format('%.0f', at)
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, text) end
end

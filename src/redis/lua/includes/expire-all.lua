-- `expireAll(at)` lets all keys that the script was given expire at one millisecond of server time. The only place
-- that sets an expiry of a session, but for the short path of an append.

local function expireAll(at)
  local text = string.format('%.0f', at)
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, text) end
end

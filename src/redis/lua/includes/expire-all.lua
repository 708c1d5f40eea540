-- `expireAll(at)` lets all keys of the session expire at one millisecond of server time.

local function expireAll(at)
  local text = string.format('%.0f', at)
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, text) end
end

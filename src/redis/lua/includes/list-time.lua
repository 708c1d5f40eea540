-- `micros()`, the server's time in microseconds, and `whole(number)`, a number as text without an exponent.

local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function whole(number) return string.format('%.0f', number) end

-- `inChunks(command, key, values, from, to)` calls a command with all values, as many at a time as Lua's stack takes.

local function inChunks(command, key, values, from, to)
  local last = to or #values
  for first = from or 1, last, 7000 do
    redis.call(command, key, unpack(values, first, math.min(first + 6999, last)))
  end
end

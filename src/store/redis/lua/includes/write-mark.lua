-- `writeMark(name, kind, count, first)` writes the mark of a turn into `ids`: `T` if the turn is done, else `t`, its
-- number of messages in seven digits, and its first position. Without a kind it removes the mark.

local function writeMark(name, kind, count, first)
  if not kind then return redis.call('HDEL', KEYS[2], name) end
  redis.call('HSET', KEYS[2], name, string.format('%s%07d%.0f', kind, count, first))
end

-- `keepDiscarded(base)` removes all fields of `ids` but those of messages and turns before a position, which were
-- discarded. The key is there all the while: see the include keep-fields.
--
--- @include in-chunks
--- @const digestLength

local function keepDiscarded(base)
  local ids = KEYS[2]
  local names, gone = redis.pcall('HKEYS', ids), {}
  if names.err then redis.call('UNLINK', ids) end
  redis.call('HSET', ids, '', '')
  for first = 1, #names, 5000 do
    local last = math.min(first + 4999, #names)
    for i, text in ipairs(redis.call('HMGET', ids, unpack(names, first, last))) do
      local position = text:match('^-?%d+$', digestLength + 1)
      if not position or tonumber(position) >= base then gone[#gone + 1] = names[first + i - 1] end
    end
  end
  inChunks('HDEL', ids, gone)
end

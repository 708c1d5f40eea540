-- `keepFields(key, at, ...)` makes a hash of these fields and values alone, which expires at a time; nil: as before.
-- The key is there all the while, if it was before: a Cluster lets no script create one in a slot that is being moved.
-- A server at its maxmemory refuses HSET as a script's first write.
--
--- @include in-chunks

local function keepFields(key, at, ...)
  local fields, kept, gone = { ... }, {}, {}
  for i = 1, #fields, 2 do kept[fields[i]] = true end
  local names = redis.pcall('HKEYS', key)
  for _, name in ipairs(names) do
    if not kept[name] then gone[#gone + 1] = name end
  end
  local text = at and string.format('%.0f', at)
  if at then redis.call('PEXPIREAT', key, text) end
  if names.err then redis.call('UNLINK', key) end
  redis.call('HSET', key, ...)
  inChunks('HDEL', key, gone)
  if at then redis.call('PEXPIREAT', key, text) end
end

-- `addKey(hash, key)` adds the data key of a writer that encrypts to those of a hash, a line each; nil for none.
--
--- @const keysField

local function addKey(hash, key)
  local keys = key and (redis.call('HGET', hash, keysField) or '')
  if keys and not keys:find(key:match('^%S+ '), 1, true) then
    redis.call('HSET', hash, keysField, keys .. key .. '\n')
  end
end

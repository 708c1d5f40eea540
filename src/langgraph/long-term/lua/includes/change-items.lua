-- The writes `run.put` and `run.delete`; ARGV begins with the writer's data key. `removeExpired(most)` removes up to
-- `most` expired items.
--
--- @include find-items
--- @include add-key

function run.put(name, text, ttl, ttlAtReads)
  local stored = isLive(call('ZSCORE', expiry, name)) and call('HGET', values, name)
  local created = stored and stored:match('^%d+') or string.format('%.0f', time)
  call('HSET', values, name, created .. '|' .. string.format('%.0f', time) .. '|' .. ttlAtReads .. '|' .. text)
  addKey(values, ARGV[1] ~= '' and ARGV[1])
  call('ZADD', names, 0, name)
  call('ZADD', expiry, '+inf', '')
  if ttl == '' then
    call('ZREM', expiry, name)
  else
    call('ZADD', expiry, string.format('%.0f', time + ttl), name)
  end
  isChanged = true
  return 0
end

function run.delete(name)
  removeItems({ name })
  isChanged = true
  return 0
end

local function removeExpired(most)
  if isGone then return end
  local expired = call('ZRANGEBYSCORE', expiry, '-inf', string.format('%.0f', time), 'LIMIT', 0, most)
  removeItems(expired)
  isChanged = isChanged or #expired > 0
end

-- The reads `run.get`, `run.search` and `run.list`; each takes the arguments of its operation. `isChanged`
-- is true once an operation has changed a key.
--
--- @include items

local run, isChanged = {}, false

local function read(name)
  local record = call('HGET', values, name)
  local ttl = record and record:match('^%d+|%d+|(%d+)|')
  if ttl then
    call('ZADD', expiry, string.format('%.0f', time + ttl), name)
    isChanged = true
  end
  return record
end

function run.get(name)
  return isLive(call('ZSCORE', expiry, name)) and read(name)
end

function run.search(lower, upper, skip, count, most, refresh)
  local found, at = {}, 0
  eachLive(lower, upper, math.min(1000, skip + count), function(name)
    at = at + 1
    if at > most + 0 then return false end
    if at > skip + 0 then
      found[#found + 1] = name
      found[#found + 1] = refresh == '1' and read(name) or call('HGET', values, name)
    end
    return #found < 2 * count
  end)
  return at > most + 0 and 'MANY' or found
end

function run.list(lower, upper, depth, count, most)
  local found = {}
  while #found < count + 0 do
    local name = firstLive(lower, upper)
    if not name then return found end
    local namespace, labels, last = name:match('^(.-)%z%z'), 0, 0
    while depth ~= '' and labels < depth + 0 and last <= #namespace do
      last, labels = namespace:find('%z', last + 1) or #namespace + 1, labels + 1
    end
    local isShortened = depth ~= '' and labels == depth + 0
    namespace = isShortened and namespace:sub(1, last - 1) or namespace
    lower = '[' .. namespace .. (isShortened and '\1' or '\0\1')
    found[#found + 1] = namespace
  end
  return #found > most + 0 and 'MANY' or found
end

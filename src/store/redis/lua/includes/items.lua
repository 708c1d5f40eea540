-- `loadStore()` returns the number of stored items, and true if the three keys disagree: one was evicted or deleted. In
-- `values` there may be the field of data keys, too.
-- `isLive(score)` is false for an item that expired; the score is its time in `expiry`, nil if it never expires.
-- `eachLive(lower, upper, count, visit)` visits the live names of a range in order, reading `count` at a time, until
-- `visit` returns false. `firstLive(lower, upper)` returns the first of them.
-- `removeItems(list)` removes the items of these names. The keys go together with the last item, and nothing touches
-- them then: a Cluster refuses a script a missing key of a slot that is being moved, also one that it removed itself.
-- `expireStore()` makes all keys expire with the last item, or never if one item never expires.
--
--- @include now
--- @include expire-all
--- @const keysField

local values, names, expiry = KEYS[1], KEYS[2], KEYS[3]
local call = redis.call
local time, isGone = now(), false

local function loadStore()
  local count, named, mark = call('HLEN', values), call('ZCARD', names), call('ZSCORE', expiry, '')
  count = count - call('HEXISTS', values, keysField)
  return count, count ~= named or (count > 0) ~= (mark and true or false)
end

local function isLive(score)
  return not score or tonumber(score) > time
end

local function eachLive(lower, upper, count, visit)
  local found
  repeat
    found = call('ZRANGEBYLEX', names, lower, upper, 'LIMIT', 0, count)
    local scores = #found > 0 and call('ZMSCORE', expiry, unpack(found))
    for index, name in ipairs(found) do
      if isLive(scores[index]) and visit(name) == false then return end
    end
    lower = '(' .. (found[#found] or '')
  until #found < count
end

local function firstLive(lower, upper)
  local first
  eachLive(lower, upper, 4, function(name)
    first = name
    return false
  end)
  return first
end

local function removeItems(list)
  if isGone or #list == 0 then return end
  local there = 0
  for _, score in ipairs(call('ZMSCORE', names, unpack(list))) do there = there + (score and 1 or 0) end
  isGone = there == call('ZCARD', names)
  if isGone then return call('UNLINK', unpack(KEYS)) end
  call('HDEL', values, unpack(list))
  call('ZREM', names, unpack(list))
  call('ZREM', expiry, unpack(list))
end

local function expireStore()
  local count = isGone and 0 or call('ZCARD', names)
  if count == 0 then return end
  if call('ZCARD', expiry) > count then
    expireAll(tonumber(call('ZREVRANGE', expiry, 1, 1, 'WITHSCORES')[2]))
  else
    for _, key in ipairs(KEYS) do call('PERSIST', key) end
  end
end

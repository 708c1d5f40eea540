-- `writeMark(name, kind, count, first)`; without a kind it removes the mark.
--
--- @include shared-marks
--- @const mostOwnMarks
--- @const longestSharedMarks
--- @const mostMarkDigits

local function putShared(digits, entries)
  local text, parts = table.concat(entries), {}
  if #text <= longestSharedMarks or #digits == mostMarkDigits then
    return redis.call('HSET', KEYS[2], sharedField(digits), text)
  end
  for _, entry in ipairs(entries) do
    local digit = entry:byte(#digits + 1) % 8
    parts[digit] = parts[digit] or {}
    table.insert(parts[digit], entry)
  end
  redis.call('HSET', KEYS[2], sharedField(digits), '/')
  for digit, part in pairs(parts) do putShared(digits .. digit, part) end
end
local function sharedEntry(name, kind, count, first)
  return string.format('%s:%s%d@%.0f ', name, kind, count, first)
end
local function writeMark(name, kind, count, first)
  local ids = KEYS[2]
  local digits, text, from = sharedMark(name)
  local isOwn = redis.call('HEXISTS', ids, name) == 1 or kind and not from and redis.call('HLEN', ids) <= mostOwnMarks
  if isOwn and kind then
    redis.call('HSET', ids, name, string.format('%s%07d%.0f', kind, count, first))
  elseif isOwn then
    redis.call('HDEL', ids, name)
  end
  if isOwn and not from or not from and not kind then return end
  local to = from and text:find(' ', from, true) or #text
  if from then text = text:sub(1, from - 1) .. text:sub(to + 1) end
  if kind and not isOwn then text = text .. sharedEntry(name, kind, count, first) end
  if text == '' then return redis.call('HDEL', ids, sharedField(digits)) end
  local entries = { text }
  if #text > longestSharedMarks then
    entries = {}
    for entry in text:gmatch('%S+ ') do entries[#entries + 1] = entry end
  end
  putShared(digits, entries)
end
local function dropMarksFrom(to)
  for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
    if field:sub(1, 7) == '[turns:' then
      for name, first in redis.call('HGET', KEYS[2], field):gmatch('(%S+):[Tt]%d+@(%d+) ') do
        if tonumber(first) >= to then writeMark(name) end
      end
    end
  end
end

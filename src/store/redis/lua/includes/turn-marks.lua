-- The mark of a turn, a field of `ids`: `T` if the turn is done, else `t`, its number of messages in seven digits, and
-- its first position. `readMark(name)`: a table of `kind`, `count`, `first`; with `unreadable` where it cannot be read.
-- `markText(mark)` is its text. `writeMark(name, kind, count, first)` writes it; without a kind it removes the mark.
--
--- @include numbers

local function readMark(name)
  local text = redis.call('HGET', KEYS[2], name)
  if not text then return nil end
  local kind, count, first = text:match('^([Tt])(%d%d%d%d%d%d%d)(%d+)$')
  count, first = wholeFrom(count, 9999999), wholeFrom(first)
  return { kind = kind, count = count, first = first, unreadable = not (count and first) }
end
local function markText(mark)
  return mark and not mark.unreadable and string.format('%s%07d%.0f', mark.kind, mark.count, mark.first) or ''
end
local function writeMark(name, kind, count, first)
  if not kind then return redis.call('HDEL', KEYS[2], name) end
  redis.call('HSET', KEYS[2], name, string.format('%s%07d%.0f', kind, count, first))
end

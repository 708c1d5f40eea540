-- `readMark(name)`, a table of `kind`, `count`, `first`; with `unreadable` where it cannot be read.
--
--- @include shared-marks
--- @include numbers

local function readMark(name)
  local own, kind, count, first = redis.call('HGET', KEYS[2], name)
  if own then
    kind, count, first = own:match('^([Tt])(%d%d%d%d%d%d%d)(%d+)$')
  else
    local _, text, from, to = sharedMark(name)
    if not from then return nil end
    kind, count, first = text:match('^([Tt])(%d+)@(%d+) ', to + 1)
  end
  count, first = wholeFrom(count, 9999999), wholeFrom(first)
  return { kind = kind, count = count, first = first, unreadable = not (count and first) }
end
local function markText(mark)
  return mark and not mark.unreadable and string.format('%s%07d%.0f', mark.kind, mark.count, mark.first) or ''
end

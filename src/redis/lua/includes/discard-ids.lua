-- `discardIds(hashes, to, bound)` forgets the ids whose position lies before `to`. With a bound they stay in `ids`,
-- and only those that exceed it are forgotten, the oldest first. The fields `discarded:<number>` of `state` hold them
-- in order, and `discarded` says which of these fields there are, and how many ids. Each id is added once and removed
-- once, so a commit costs what it discards.
--
--- @include now
--- @include forget
--- @include read-discarded
--- @include write-discarded
--- @const idHashLength
--- @const discardedEntryLength

local function dropOldest(first, last, surplus, bound)
  local gone, oldest = {}, math.floor(now() / 1000) - bound.seconds
  while first <= last do
    local name, at = 'discarded:' .. first, 1
    local chunk = redis.call('HGET', KEYS[3], name)
    if not chunk then return last + 1, gone end
    while at <= #chunk and (#gone < surplus or
        (tonumber(chunk:sub(at + (discardedEntryLength - 10), at + (discardedEntryLength - 1))) or 0) < oldest) do
      gone[#gone + 1] = chunk:sub(at, at + (idHashLength - 1))
      at = at + discardedEntryLength
    end
    if at <= #chunk then
      if at > 1 then redis.call('HSET', KEYS[3], name, chunk:sub(at)) end
      return first, gone
    end
    redis.call('HDEL', KEYS[3], name)
    first = first + 1
  end
  return first, gone
end
local function discardIds(hashes, to, bound)
  if not bound then return forget(hashes, 0, to) end
  local first, last, count = readDiscarded()
  local entries = newEntries(hashes, to)
  local start, gone = dropOldest(first, last, count + #entries - bound.count, bound)
  local left = start > last and 0 or count - #gone
  local skipped = math.min(#entries, math.max(0, left + #entries - bound.count))
  for i = 1, skipped do gone[#gone + 1] = entries[i]:sub(1, idHashLength) end
  forget(table.concat(gone), -1, to)
  if #entries > skipped then last = writeEntries(start, math.max(last, start - 1), entries, skipped + 1) end
  local known = left + #entries - skipped
  if known == 0 then return redis.call('HDEL', KEYS[3], 'discarded') end
  redis.call('HSET', KEYS[3], 'discarded', start .. ' ' .. last .. ' ' .. known)
end

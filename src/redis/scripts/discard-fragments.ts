import { digestLength, idHashLength } from "../id-hash.js";

/** Characters of an entry: hash and digest of an id, and the second in which its message was discarded. */
export const discardedEntryLength = idHashLength + digestLength + 10;
const entryLength = discardedEntryLength;

/** Characters of the longest text of entries: 128 of them, so that a change copies little. */
const chunkLength = 128 * entryLength;

/** Lua: `writeEntries(first, last, entries, from)` writes entries behind those in fields from `first` to `last`. */
const writeEntries = `
local function writeEntries(first, last, entries, from)
  local chunk = last >= first and redis.call('HGET', KEYS[3], 'discarded:' .. last) or nil
  if not chunk or #chunk >= ${chunkLength} then last, chunk = last + 1, '' end
  while from <= #entries do
    local room = math.floor((${chunkLength} - #chunk) / ${entryLength})
    local to = math.min(#entries, from + room - 1)
    redis.call('HSET', KEYS[3], 'discarded:' .. last, chunk .. table.concat(entries, '', from, to))
    from, chunk, last = to + 1, '', to < #entries and last + 1 or last
  end
  return last
end`;

/** Lua: what is written of discarded ids, and the entries for those that are discarded now. */
const discardedEntries = `
local function readDiscarded()
  local first, last, count = (redis.call('HGET', KEYS[3], 'discarded') or ''):match('^(%d+) (%d+) (%d+)$')
  return tonumber(first or 1), tonumber(last or 0), tonumber(count or 0)
end
local function newEntries(hashes, to)
  local length, second, entries = ${idHashLength}, string.format('%010d', math.floor(now() / 1000)), {}
  for first = 1, #hashes, 5000 * length do
    local fields = {}
    for at = first, math.min(first + 5000 * length, #hashes + 1) - length, length do
      fields[#fields + 1] = hashes:sub(at, at + length - 1)
    end
    for i, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(fields))) do
      local position = stored and tonumber(stored:sub(${digestLength + 1}))
      if position and position < to then
        entries[#entries + 1] = fields[i] .. stored:sub(1, ${digestLength}) .. second
      end
    end
  end
  return entries
end`;

/**
 * Lua, for scripts with KEYS log, ids, state: `discardIds(hashes, to, bound)` forgets the ids whose position lies
 * before `to`. With a bound they stay in `ids`, and only those that exceed it are forgotten, the oldest first. The
 * fields `discarded:<number>` of `state` hold them in order, and `discarded` says which of these fields there are, and
 * how many ids. Each id is added once and removed once, so a commit costs what it discards. Needs `inChunks`, `forget`,
 * `now`.
 */
export const discardIds = `${writeEntries}${discardedEntries}
local function dropOldest(first, last, surplus, bound)
  local gone, oldest = {}, math.floor(now() / 1000) - bound.seconds
  while first <= last do
    local name, at = 'discarded:' .. first, 1
    local chunk = redis.call('HGET', KEYS[3], name)
    if not chunk then return last + 1, gone end
    while at <= #chunk and (#gone < surplus or
        (tonumber(chunk:sub(at + ${entryLength - 10}, at + ${entryLength - 1})) or 0) < oldest) do
      gone[#gone + 1] = chunk:sub(at, at + ${idHashLength - 1})
      at = at + ${entryLength}
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
  for i = 1, skipped do gone[#gone + 1] = entries[i]:sub(1, ${idHashLength}) end
  forget(table.concat(gone), -1, to)
  if #entries > skipped then last = writeEntries(start, math.max(last, start - 1), entries, skipped + 1) end
  local known = left + #entries - skipped
  if known == 0 then return redis.call('HDEL', KEYS[3], 'discarded') end
  redis.call('HSET', KEYS[3], 'discarded', start .. ' ' .. last .. ' ' .. known)
end`;

/**
 * Lua, for a copy: `adoptDiscarded(packed)` takes over entries of the source, but for those whose message the copy
 * holds.
 */
export const adoptDiscarded = `${writeEntries}
local function adoptDiscarded(packed)
  local entries = {}
  for at = 1, #packed, ${entryLength} do
    local digest = packed:sub(at + ${idHashLength}, at + ${idHashLength + digestLength - 1})
    if redis.call('HSETNX', KEYS[2], packed:sub(at, at + ${idHashLength - 1}), digest .. '-1') == 1 then
      entries[#entries + 1] = packed:sub(at, at + ${entryLength - 1})
    end
  end
  if #entries == 0 then return end
  redis.call('HSET', KEYS[3], 'discarded', '1 ' .. writeEntries(1, 0, entries, 1) .. ' ' .. #entries)
end`;

/**
 * Lua, for a rebuild: `restoreDiscarded()` puts the discarded ids into `ids` again, with a position that is before
 * every log, and writes the fields that hold them anew, without what cannot be read. Needs `inChunks`.
 */
export const restoreDiscarded = `
local function restoreDiscarded()
  local numbers, texts, last, count = {}, {}, 0, 0
  for _, name in ipairs(redis.call('HKEYS', KEYS[3])) do
    local number = name:match('^discarded:(%d+)$')
    if number then numbers[#numbers + 1] = number end
  end
  table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
  for _, number in ipairs(numbers) do
    local chunk = redis.call('HGET', KEYS[3], 'discarded:' .. number)
    redis.call('HDEL', KEYS[3], 'discarded:' .. number)
    if #chunk % ${entryLength} == 0 and chunk:match('^[%w_-]+$') then texts[#texts + 1] = chunk end
  end
  redis.call('HDEL', KEYS[3], 'discarded')
  for i, chunk in ipairs(texts) do
    local entries = {}
    for at = 1, #chunk, ${entryLength} do
      entries[#entries + 1] = chunk:sub(at, at + ${idHashLength - 1})
      entries[#entries + 1] = chunk:sub(at + ${idHashLength}, at + ${idHashLength + digestLength - 1}) .. '-1'
    end
    redis.call('HSET', KEYS[3], 'discarded:' .. i, chunk)
    inChunks('HSET', KEYS[2], entries, 1, #entries)
    last, count = i, count + #entries / 2
  end
  if last > 0 then redis.call('HSET', KEYS[3], 'discarded', '1 ' .. last .. ' ' .. count) end
end`;

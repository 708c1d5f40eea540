-- `truncate(s, to, token, hashes, losses, from)` removes all records from a position on. `token` is of this change
-- only; `hashes` are those of their ids, packed; `losses` holds, from an index on, pairs of a turn's name and how many
-- records it loses: one without records is forgotten, any other is open again.
--
-- `endsAt(s, to)` is true if that leaves neither records, also discarded ones, nor head, owner, title or holder;
-- `endSession()` removes the session then, and returns the reply of an append.
--
-- `forget(hashes, from)` removes those of the hashes, `idHashLength` characters each, whose position is at or behind
-- `from`, and counts them.
--
-- The log is cut first: a full server refuses other writes, but none behind that one, so that a rewind can make room.
-- The view begins with the log again where it would else begin behind its end, with no head that stands for it. Where
-- the named ids are not all that were removed (a record could not be read), all ids are looked through: one that
-- stayed would make a new message look like a repetition. The field that names the owner is no hash.
--
--- @include begins-round
--- @include now
--- @include in-chunks
--- @include log-sum
--- @include turn-marks
--- @const digestLength
--- @const idHashLength

local function forget(hashes, from)
  local count, length = 0, idHashLength
  for first = 1, #hashes, 5000 * length do
    local fields, gone = {}, {}
    for at = first, math.min(first + 5000 * length, #hashes + 1) - length, length do
      fields[#fields + 1] = hashes:sub(at, at + length - 1)
    end
    for i, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(fields))) do
      local position = stored and tonumber(stored:sub(digestLength + 1))
      if position and position >= from then
        gone[#gone + 1] = fields[i]
      end
    end
    inChunks('HDEL', KEYS[2], gone)
    count = count + #gone
  end
  return count
end
local function endsAt(s, to)
  if to > 0 or s.owner then return false end
  local isHeadless = s.start > 0 or s.headCount == 0 or redis.call('HSTRLEN', KEYS[3], 'head') == 0
  return isHeadless and redis.call('HEXISTS', KEYS[3], 'title') + redis.call('HEXISTS', KEYS[3], 'holder') == 0
end
local function endSession()
  redis.call('UNLINK', unpack(KEYS))
  return { 'OK', 0, 0, {}, 0, '', '', '' }
end
local function truncate(s, to, token, hashes, losses, from)
  local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
  local kept = to - s.base
  for first = kept, s.length - 1, 64 do
    for _, record in ipairs(redis.call('LRANGE', log, first, first + 63)) do
      s.rounds = s.rounds - (beginsRound(record) and 1 or 0)
    end
  end
  if kept == 0 then redis.call('UNLINK', log) else redis.call('LTRIM', log, 0, kept - 1) end
  redis.call('HSET', state, 'next', to, 'rounds', s.rounds, 'updated', now())
  redis.call('HDEL', state, 'tokens', 'counter')
  if to < s.start or to == s.start and s.headCount == 0 then
    redis.call('HDEL', state, 'head', 'headCount')
    redis.call('HSET', state, 'start', s.base)
    s.start, s.headCount = s.base, 0
  end
  if forget(hashes, to) < s.length - kept then
    local all = {}
    for _, name in ipairs(redis.call('HKEYS', ids)) do
      if #name == idHashLength then all[#all + 1] = name end
    end
    forget(table.concat(all), to)
  end
  for i = from, #losses, 2 do
    local stored = readMark(losses[i]) or {}
    local count = (stored.count or 0) - losses[i + 1]
    writeMark(losses[i], count > 0 and 't', count, stored.first or 0)
  end
  s.length, s.next, s.tokens, s.sum = kept, to, nil, newSum(s.sum, token)
  if s.sum then redis.call('HSET', state, 'sum', sumText(s.sum)) end
end

-- Replaces texts that are unchanged since the read (compare-and-set by hash).
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { epoch, token, keys?, records: [{ position, was, hash?, digest? }], fields: [{ name,
--   was }] }, where `was` is the SHA-1 of a text; the new texts of the records, then of the fields.
-- Replies: how many were replaced.
--
-- twin: store/in-memory/edits.ts
--
--- @include gate
--- @include log-sum
--- @include note-key
--- @const digestLength

local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, s = cjson.decode(ARGV[1]), loadSession(state, log, ids)
local refusal = gate(request, s, 'owner key')
if refusal then return refusal end
if s.epoch ~= request.epoch then return { 'SWAPPED', 0 } end
local noted = noteKey(request, s, function(name, value) redis.call('HSET', state, name, value) end)
if noted and s.length > 0 then keepKey(s, ids) end
local swapped, isViewed = 0, false
for i, swap in ipairs(request.records) do
  local index = swap.position - s.base
  local stored = index >= 0 and redis.call('LINDEX', log, index)
  if stored and redis.sha1hex(stored) == swap.was then
    redis.call('LSET', log, index, ARGV[i + 1])
    local known = swap.hash and redis.call('HGET', ids, swap.hash)
    if known and tonumber(known:sub(digestLength + 1)) == swap.position then
      redis.call('HSET', ids, swap.hash, swap.digest .. known:sub(digestLength + 1))
    end
    swapped, isViewed = swapped + 1, true
  end
end
for i, swap in ipairs(request.fields) do
  local stored = redis.call('HGET', state, swap.name)
  if stored and redis.sha1hex(stored) == swap.was then
    redis.call('HSET', state, swap.name, ARGV[#request.records + i + 1])
    swapped, isViewed = swapped + 1, isViewed or swap.name == 'head'
  end
end
local sum = isViewed and newSum(s.sum, request.token)
if sum then redis.call('HSET', state, 'sum', sumText(sum)) end
return { 'SWAPPED', swapped }

-- Rebuilds `ids` and `state` from the log, if the session is unchanged since the read (compare-and-set). Keys `ids` and
-- `state` of another type count as lost.
--
-- KEYS: log, ids, state; of a long session, its new `ids`, which were staged in pieces.
-- ARGV: what was read, as JSON { length, fields: [epoch, rev, base, next] }, with { newEpoch, newRev, rounds, sum,
--   owner?, keys?, staged? }; else pairs of field and value for `ids`, of each record and turn in the log. `staged` is
--   the number of fields that were staged.
-- Replies: REBUILT owner | those of the gate | OWNED (it has an owner, whose name is lost) | CHANGED.
--
-- twin: store/in-memory/session.ts
--
--- @include gate
--- @include expire-all
--- @include now
--- @include mend
--- @include explain-ids
--- @include note-key
--- @include keep-discarded
--- @include log-sum
--- @const ownerField

local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, length = cjson.decode(ARGV[1]), redis.call('LLEN', log)
local s = loadSession(state, nil, nil, redis.pcall)
local function repeated() return s.rev == request.newRev and { 'REBUILT', s.owner or '' } end
local refusal = gate(request, s, 'erased owner key', repeated)
if refusal then return refusal end
if s.left and not s.owner and not request.owner and #s.left.marks > 0 then return { 'OWNED' } end
local isHash, field = s.isHash, s.isHash and redis.call('HMGET', state, 'epoch', 'rev', 'base', 'next') or {}
for i = 1, 4 do
  if (field[i] or '') ~= request.fields[i] then return { 'CHANGED' } end
end
if length ~= request.length then return { 'CHANGED' } end
if request.staged and redis.call('HLEN', KEYS[4]) ~= request.staged then return { 'CHANGED' } end
local left = redis.call('PTTL', length > 0 and log or state)
if not isHash then redis.call('UNLINK', state) end
if length == 0 and (not isHash or redis.call('HLEN', state) == 0) then
  redis.call('UNLINK', ids)
  return { 'REBUILT', '' }
end
if request.fields[1] == '' then redis.call('HSET', state, 'epoch', request.newEpoch) end
redis.call('HSET', state, 'rev', request.newRev, 'cut', request.newRev, 'updated', now())
local sum = newSum(request.sum, request.newRev .. (s.sum or '') .. table.concat(redis.call('TIME'), ' '))
redis.call('HSET', state, 'sum', sumText(sum))
if s.key ~= '' then redis.call('HSET', state, 'key', s.key, 'dek', s.dek) end
local owner = s.owner or request.owner
if owner then redis.call('HSETNX', state, 'owner', owner) end
if request.staged then
  redis.call('UNLINK', ids)
  if request.staged > 0 then redis.call('RENAME', KEYS[4], ids) end
else
  keepDiscarded(tonumber(request.fields[3]) or 0)
end
mend(length, request.rounds)
if length > 0 then
  explainIds(redis.call('HLEN', ids) - 1, #ARGV / 2, true)
  if owner then redis.call('HSET', ids, ownerField, owner) end
  keepKey(s, ids)
end
inChunks('HSET', ids, ARGV, 2)
if left >= 0 then expireAll(now() + left) else keepAll() end
redis.call('HDEL', ids, '')
return { 'REBUILT', redis.call('HGET', state, 'owner') or '' }

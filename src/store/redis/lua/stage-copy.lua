-- Appends a page to an incomplete copy of a session. Idempotent.
--
-- KEYS: log, ids and state of the copy.
-- ARGV: the request as JSON { from, base, count, sum, turns, ttl, owner }; for each of `count` records the hash of its
--   id, another hash to take where that is known already, and digest and position; for each of `turns` turns its name,
--   its records on this page, the position of the first, and the number of records that it has when it is done, or 0;
--   the records. `sum` is their checksum.
-- Replies: STAGED and the position that the next record gets, or "" where the copy has expired. A page that is there
--   already changes nothing.
--
-- No gate: the keys are of an incomplete copy, which is not a session yet.
--
-- twin: store/in-memory/session-data.ts
--
--- @include expire-all
--- @include now
--- @include explain-ids
--- @include begins-round
--- @include turn-marks
--- @include in-chunks
--- @include log-sum

local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, rounds = cjson.decode(ARGV[1]), 0
local count, firstRecord = request.count, #ARGV - request.count
local stored = redis.call('HGET', state, 'next')
if tonumber(stored or request.base) ~= request.from then return { 'STAGED', stored or '' } end
explainIds(redis.call('HLEN', ids), count, not stored)
for i = 1, count do
  local at = 3 * i - 1
  if redis.call('HSETNX', ids, ARGV[at], ARGV[at + 2]) == 0 then
    redis.call('HSET', ids, ARGV[at + 1], ARGV[at + 2])
  end
  rounds = rounds + (beginsRound(ARGV[firstRecord + i]) and 1 or 0)
end
for at = 3 * count + 2, 3 * count + 1 + 4 * request.turns, 4 do
  local mark = readMark(ARGV[at])
  local total = (mark and mark.count or 0) + ARGV[at + 1]
  writeMark(ARGV[at], total == tonumber(ARGV[at + 3]) and 'T' or 't', total, mark and mark.first or ARGV[at + 2])
end
inChunks('RPUSH', log, ARGV, firstRecord + 1)
local next = string.format('%.0f', request.from + count)
local sum = extendSum(tonumber(redis.call('HGET', state, 'sum') or 0), count, request.sum)
redis.call('HSET', state, 'next', next, 'owner', request.owner, 'sum', sumText(sum))
redis.call('HINCRBY', state, 'rounds', rounds)
expireAll(now() + request.ttl)
return { 'STAGED', next }

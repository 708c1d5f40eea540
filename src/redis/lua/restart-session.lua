-- Clears a session within a turn: what belongs to the turn stays, and the session begins a new life.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { fencingToken, expectedEpoch, newEpoch, owner? }.
-- Replies: CLEARED and the session's owner or "" | EPOCH | FENCED | OWNER | ERASED.
--
-- A repetition of the same call, sent because its reply was lost, finds its own `newEpoch`.
--
-- twin: model/holds.ts
--
--- @include now

local state, request = KEYS[3], cjson.decode(ARGV[1])
local field = redis.call('HMGET', state, 'epoch', 'fence', 'holder', 'waiters', 'owner', 'erased')
if field[6] then return 'ERASED' end
if request.owner and field[5] and request.owner ~= field[5] then return 'OWNER' end
if field[1] == request.newEpoch then return { 'CLEARED', '' } end
if field[1] ~= request.expectedEpoch then return 'EPOCH' end
if request.fencingToken < tonumber(field[2] or 0) then return 'FENCED' end
local left, time = redis.call('PTTL', state), now()
redis.call('UNLINK', unpack(KEYS))
local epoch, at = request.newEpoch, string.format('%.0f', time)
redis.call('HSET', state, 'epoch', epoch, 'rev', epoch, 'created', at, 'updated', at)
for i, name in ipairs({ 'fence', 'holder', 'waiters' }) do
  if field[i + 1] then redis.call('HSET', state, name, field[i + 1]) end
end
if left >= 0 then redis.call('PEXPIREAT', state, string.format('%.0f', time + left)) end
return { 'CLEARED', field[5] or '' }

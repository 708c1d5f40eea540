-- Takes the hold and raises the fence, or takes a place in the line.
--
-- KEYS: state.
-- ARGV: the request as JSON { ticket, holdMs, graceMs, epoch, ttlMs?, owner? }.
-- Replies: HELD fence epoch milliseconds-to-live | WAITS number-ahead | those of the gate.
--
-- Holder and waiters are fields of `state`, not keys of their own: so one script of one key takes the hold and
-- announces it, and none names a key that may be missing while a slot moves.
--
-- twin: model/holds.ts
--
--- @include gate
--- @include expire-all
--- @include holder

local state, request, clock = KEYS[1], cjson.decode(ARGV[1]), redis.call('TIME')
local time = clock[1] * 1000 + math.floor(clock[2] / 1000)
local s = loadSession(state)
local refusal = gate(request, s, 'erased owner')
if refusal then return refusal end
local field = redis.call('HMGET', state, 'holder', 'waiters')
local epoch, holder, ends, fence = s.epoch, holderOf(field[1])
local ticket, ending = request.ticket, string.format(' %.0f ', time + request.holdMs)
if holder == ticket then
  redis.call('HSET', state, 'holder', ticket .. ending .. fence)
  return { 'HELD', fence, epoch, redis.call('PTTL', state) }
end
local waiters, ahead, own = {}, nil, string.format('%s %.0f', ticket, time)
for other, seen in (field[2] or ''):gmatch('(%S+) (%d+)') do
  if other == ticket then
    ahead = #waiters
    waiters[#waiters + 1] = own
  elseif time - seen <= request.graceMs then
    waiters[#waiters + 1] = other .. ' ' .. seen
  end
end
if not ahead then
  ahead = #waiters
  waiters[#waiters + 1] = own
end
if ahead > 0 or holder and tonumber(ends) >= time then
  redis.call('HSET', state, 'waiters', table.concat(waiters, ' '))
  return { 'WAITS', ahead }
end
fence = string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], s.fence + 1))
redis.call('HSET', state, 'fence', fence, 'holder', ticket .. ending .. fence)
table.remove(waiters, 1)
if #waiters > 0 then
  redis.call('HSET', state, 'waiters', table.concat(waiters, ' '))
else
  redis.call('HDEL', state, 'waiters')
end
if epoch == '' then
  epoch = request.epoch
  local at = string.format('%.0f', time)
  redis.call('HSET', state, 'epoch', epoch, 'rev', epoch, 'created', at, 'updated', at)
  if request.ttlMs then expireAll(time + request.ttlMs) end
end
return { 'HELD', fence, epoch, redis.call('PTTL', state) }

-- `holdFor(request, s, refusal)` for an append that takes the hold with it. Returns a reply where the append ends: it
-- has to wait, or its turn is stored. An open turn goes on, so its writer takes the hold; one that is done is left
-- alone. Else nothing, and the hold for `changeHold(hold, ticket)`, which takes it, and gives that of the ticket back.
-- `heldReply(hold, s, reply)` puts the hold in front of a reply.
--
--- @include seek-hold

local function heldReply(hold, s, reply)
  return hold and { 'TOOK', hold.fence, s.epoch, redis.call('PTTL', KEYS[3]), reply } or reply
end
local function holdFor(request, s, refusal)
  local isOpen = refusal and refusal[1] == 'TURN' and refusal[2] ~= 1
  if not request.take or refusal and not isOpen then return refusal end
  local hold = seekHold(KEYS[3], request.take, s.fence)
  if type(hold) == 'number' then return { 'WAITS', hold, s.next, s.epoch } end
  if not refusal then return nil, hold end
  keepHold(KEYS[3], hold)
  return heldReply(hold, s, refusal)
end
local function changeHold(hold, ticket)
  if hold then keepHold(KEYS[3], hold) end
  if ticket and holderOf(redis.call('HGET', KEYS[3], 'holder')) == ticket then redis.call('HDEL', KEYS[3], 'holder') end
end

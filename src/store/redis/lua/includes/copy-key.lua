-- `copyKey(request, state)` refuses a writer of a copy that seals with another data key than the copy has.

local function copyKey(request, state)
  local stored = redis.call('HMGET', state, 'key', 'dek')
  local name = request.keys and request.keys.name
  return stored[1] and stored[1]:match('^%S+') ~= name and { 'KEY', stored[1] .. ' ' .. stored[2] } or nil
end

-- `isAsRead(s, request)` is true if the session is unchanged since the read, except for appends: same epoch, same
-- revision, and the id with the hash `last` at the end of the range read. Without `last`, the id is not compared.
--
--- @const digestLength

local function isAsRead(s, request)
  if s.epoch == '' or s.epoch ~= request.epoch or s.rev ~= request.rev then return false end
  if not request.last then return true end
  local stored = redis.call('HGET', KEYS[2], request.last) or ''
  return stored:sub(digestLength + 1) == string.format('%.0f', request.next - 1)
end

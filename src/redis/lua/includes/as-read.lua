-- `isAsRead(s, request)` is true where the session is as a request says that it was read, but for its length: of the
-- same life and revision, and with the id whose hash is `last` at the end of what was read. Without a `last` that is
-- not compared.
--
--- @const digestLength

local function isAsRead(s, request)
  if s.epoch == '' or s.epoch ~= request.epoch or s.rev ~= request.rev then return false end
  if not request.last then return true end
  local stored = redis.call('HGET', KEYS[2], request.last) or ''
  return stored:sub(digestLength + 1) == string.format('%.0f', request.next - 1)
end

-- `baseOfSame(thread, record, tail, first)` is the base of a stored record if it is the one that is sent, with the same
-- items: then the call was sent twice.
--
--- @include thread

local function baseOfSame(thread, record, tail, first)
  local base, from = record:match('^(%d+)|()')
  if not base or record:sub(from) ~= tail then return nil end
  local at, count = base - thread.base, #ARGV - first + 1
  if at < 0 then return nil end
  local stored = count > 0 and call('LRANGE', items, at, at + count - 1) or {}
  for i = 1, count do
    if stored[i] ~= ARGV[first + i - 1] then return nil end
  end
  return tonumber(base)
end

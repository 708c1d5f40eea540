-- looks the request's ids up, which must not be stored, and its turn, whose mark must be as the caller knows it; `mark`
-- becomes the new one, as `writeMark` has it.

local mark
if expected and rounds then
  local fields = {}
  for i = 1, count do fields[i] = ARGV[2 * i] end
  if turn ~= '' then fields[count + 1] = turn end
  found = call('HMGET', ids, unpack(fields))
  for i = 1, count do expected = expected and not found[i] end
  if turn ~= '' then
    local size, place = '0', at
    if found[count + 1] then size, place = found[count + 1]:match('^t(%d%d%d%d%d%d%d)(%d+)$') end
    expected = expected and size and size + 0 == stored + 0 and place + 0 <= 5e13
    mark = expected and string.format('%s%07d%s', kind, stored + count, place)
  end
end

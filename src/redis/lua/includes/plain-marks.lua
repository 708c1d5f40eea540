-- looks the request's ids up, which must not be stored, and its turn, whose mark must be as the caller knows it. The
-- mark becomes `markField` and `mark`, as `readMark` and `writeMark` have them; a shared field that has to be divided
-- is an exception.
--
--- @const mostOwnMarks
--- @const longestSharedMarks
--- @const mostMarkDigits

local markField, mark
if expected and rounds then
  local fields, first = {}, 0
  if turn ~= '' then fields[1], fields[2], first = turn, '[turns:' .. string.rep('.', mostMarkDigits) .. ']', 2 end
  for i = 1, count do fields[first + i] = ARGV[2 * i] end
  found = call('HMGET', ids, unpack(fields))
  for i = first + 1, #found do expected = expected and not found[i] end
  if turn ~= '' then
    local own, text, digits, size, place, ends = found[1], found[2] or '', '', '0', at
    while not own and text == '/' and #digits < mostMarkDigits do
      digits = digits .. turn:byte(#digits + 1) % 8
      text = call('HGET', ids, '[turns:' .. digits .. string.rep('.', mostMarkDigits - #digits) .. ']') or ''
    end
    local begins = not own and text:find(turn .. ':', 1, true)
    if own then size, place = own:match('^t(%d%d%d%d%d%d%d)(%d+)$') end
    if begins then size, place, ends = text:match('^t(%d+)@(%d+) ()', begins + #turn + 1) end
    expected = expected and size and size + 0 == stored + 0 and place + 0 <= 5e13
    if expected and (own or not begins and known + count <= mostOwnMarks) then
      markField, mark = turn, string.format('%s%07d%s', kind, stored + count, place)
    elseif expected then
      if begins then text = text:sub(1, begins - 1) .. text:sub(ends) end
      mark = text .. string.format('%s:%s%d@%s ', turn, kind, stored + count, place)
      markField = '[turns:' .. digits .. string.rep('.', mostMarkDigits - #digits) .. ']'
      expected = text ~= '/' and #mark <= longestSharedMarks
    end
  end
end

-- `refuseKey(request, stored)` returns a reply if the session needs a key that the writer does not name. `stored` is
-- the field `key` of `state`: names of keys with spaces between them, the last writer's first; one that begins with an
-- asterisk is the mark of a pass of re-encryption.

local function refuseKey(request, stored)
  if not stored or stored == '' then return end
  local known = request.keys and ' ' .. table.concat(request.keys.known, ' ') .. ' ' or ''
  for name in stored:gmatch('%S+') do
    if name:byte(1) ~= 42 and not known:find(' ' .. name .. ' ', 1, true) then return { 'KEY', stored } end
  end
end

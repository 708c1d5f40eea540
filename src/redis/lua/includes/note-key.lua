-- `noteKey(request, stored, set)` sets the field `key` if the writer's encryption key differs from the last one.
-- Removes the mark, which tells the pass of re-encryption of this write.

local function noteKey(request, stored, set)
  local current = request.keys and request.keys.current
  if not current or stored:match('%S+') == current then return end
  local names = current
  for name in stored:gmatch('%S+') do
    if name ~= current and name:byte(1) ~= 42 then names = names .. ' ' .. name end
  end
  set('key', names)
end

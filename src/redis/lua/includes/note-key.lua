-- `noteKey(request, stored, set)` sets the field `key` where a writer seals with another key than the last one. A mark
-- goes, so that the pass of re-encryption knows of this write.

local function noteKey(request, stored, set)
  local current = request.keys and request.keys.current
  if not current or stored and stored:match('%S+') == current then return end
  local names = current
  for name in (stored or ''):gmatch('%S+') do
    if name ~= current and name:byte(1) ~= 42 then names = names .. ' ' .. name end
  end
  set('key', names)
end

-- `claim(request, s, set)` gives a session without an owner the one who writes, and a session that never had a label
-- the one of the request.

local function claim(request, s, set)
  if request.owner and not s.owner then
    s.owner = request.owner
    set('owner', s.owner)
  end
  if request.label and not s.label then
    set('label', request.labelVersion)
    for name, text in pairs(request.label) do set(name, text) end
  end
end

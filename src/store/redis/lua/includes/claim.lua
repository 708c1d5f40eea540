-- `claim(request, s, set)` sets the owner of a session without one to the writer's, and the label of a session that
-- never had one to that of the request. The owner's name stands in `ids` too, if there are records: it survives the
-- loss of `state`.
--
--- @const ownerField

local function claim(request, s, set)
  s.owner = s.owner or request.owner
  if s.owner and not s.isNamed then
    set('owner', s.owner)
    if s.length > 0 then redis.call('HSET', KEYS[2], ownerField, s.owner) end
  end
  if request.label and not s.label then
    set('label', request.labelVersion)
    for name, text in pairs(request.label) do set(name, text) end
  end
end

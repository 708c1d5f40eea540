-- `nameOwner(s)` keeps the owner's name in `ids` too, where the session has records: whoever loses `state` still knows
-- whose they are.
--
--- @const ownerField

local function nameOwner(s)
  if s.owner and s.length > 0 then redis.call('HSET', KEYS[2], ownerField, s.owner) end
end

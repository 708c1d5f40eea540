-- `nameOwner(s)` stores the owner's name in `ids` too, if the session has records: it survives the loss of `state`.
--
--- @const ownerField

local function nameOwner(s)
  if s.length > 0 then redis.call('HSET', KEYS[2], ownerField, s.owner) end
end

-- `noteKey(request, s, set)` sets the data key of a session that has none to the writer's; what stands there already is
-- plain text, which a third word of the field says until it is sealed. `keepKey(s, ids)` stores the key in `ids` too,
-- where there are records: it survives the loss of `state`.
--
--- @const keyField
--- @const dekField

local function hasTexts()
  for _, name in ipairs(redis.call('HKEYS', KEYS[#KEYS])) do
    if name == 'next' or name == 'title' or name == 'metadata' or name:sub(1, 5) == 'side:' then return true end
  end
  return false
end
local function noteKey(request, s, set)
  local keys = request.keys
  if s.key ~= '' or not (keys and keys.key) then return false end
  s.key, s.dek = keys.key .. (hasTexts() and ' plain' or ''), keys.dek
  set('key', s.key)
  set('dek', s.dek)
  return true
end
local function keepKey(s, ids)
  if s.key ~= '' then redis.call('HSET', ids, keyField, s.key, dekField, s.dek) end
end

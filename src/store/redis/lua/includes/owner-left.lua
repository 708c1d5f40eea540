-- `ownerLeft(state)`: the owner of a session that lost its `state`, by its other keys: { name } as `ids` names
-- the owner, or { marks } as records at both ends of the log bear them; nothing where neither key is left. The names of
-- the keys follow from that of `state`: scripts that are given no other key ask too. `ownerMarkIn` of
-- src/store/contract/record-text.ts reads the same mark.
--
--- @const ownerField
--- @const keyField
--- @const dekField

local function ownerLeft(state)
  local stem = state:match('^(.*:)state$')
  if not stem then return nil end
  local left = redis.pcall('HMGET', stem .. 'ids', ownerField, keyField, dekField)
  -- Without records, the session begins a new life, with a key of its own.
  if redis.call('EXISTS', stem .. 'log') == 0 then left = { left[1] } end
  if left[1] then return { name = left[1], key = left[2], dek = left[3] } end
  local marks, isLeft = {}, redis.call('EXISTS', stem .. 'ids') == 1
  for _, at in ipairs({ 0, -1 }) do
    local record = redis.pcall('LINDEX', stem .. 'log', at)
    if type(record) == 'string' then
      isLeft = true
      marks[#marks + 1] = record:match('^[^\n]*'):match('"owner":"(%x%x%x%x%x%x%x%x%x%x%x%x)"}}$')
    end
  end
  return isLeft and { marks = marks, key = left[2], dek = left[3] } or nil
end

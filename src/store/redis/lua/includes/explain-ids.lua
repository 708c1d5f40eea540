-- `explainIds(known, added, anew)` keeps the field of `ids` that says how to read it, which no id has: in a hash that
-- is written `anew`, and where it grows from `known` fields beyond `mostCompact`. The long text makes Redis keep the
-- hash as a table. The compact form takes half of the memory, but is searched from front to back: ten ids among 500
-- take 50 µs to find in it.
--
--- @const mostCompact

local function explainIds(known, added, anew)
  local isLong = known + added > mostCompact
  if not anew and (known > mostCompact or not isLong) then return end
  redis.call('HSET', KEYS[2], '[how to read:]', not isLong and 'id: digest, position'
    or 'SHA-256 of a message id in base64url = that of the content, then the position in the log')
end

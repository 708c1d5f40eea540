-- `holderOf(field)` parses the field `holder` of `state`: ticket, expiry and fence of the hold; nothing if there is
-- none.

local function holderOf(field)
  return (field or ''):match('^(%S+) (%d+) (%d+)$')
end

-- `holderOf(field)` takes the field `holder` of `state` apart: the ticket, the time at which its turn ends, and its
-- fence; nothing where nobody holds the turn.

local function holderOf(field)
  return (field or ''):match('^(%S+) (%d+) (%d+)$')
end

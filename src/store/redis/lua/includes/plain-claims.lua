-- `expected`, true where the fields of `state` (`plainFields` of stored-fields.ts: 4 is the owner, 11 the tombstone)
-- are as the request of `plain-append` expects them, and `total`, the tokens of the view after it; nothing where they
-- are not known. Each text that the request leaves empty concerns nothing: the counter, the tokens that it counted and
-- their limit, the owner, the name of the data key, the epoch, the fencing token, the turn's name, its stored records
-- and the kind of its new mark, the ticket of a hold to take and for how long, that of a hold to give back, and 1 for a
-- label.

local expected = field[1] == at and (field[3] or ''):find('^%S+$') and not field[11]
  and (field[10] or ''):match('^%S*') == key
  and (not field[9] or field[9]:find('^%d+$') and field[9] + 0 <= 2 ^ 53)
  and (owner == '' or owner == field[4]) and (epoch == '' or epoch == field[3]) and (token == '' or token == field[9])
  and (label == '' or field[16]) and (ticket == '' or not (field[14] or field[15]))
  and (back == '' or (field[14] or ''):match('^(%S+) %d+ %d+$') == back)
if field[8] then
  total = counter ~= '' and counter == field[13] and field[8]:find('^%d[%d.e+-]*$') and field[8] + added
  expected = expected and total and total < math.huge
else
  expected = expected and mostTokens == ''
end

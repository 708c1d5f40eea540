-- `logFields(s, request, fresh, entries)`: the fields of `state`, with their values, that say what the log is behind
-- `fresh` of the request's records. `entries` are of those, where some were known.
--
--- @include log-sum

local function logFields(s, request, fresh, entries)
  if fresh == 0 then return {} end
  local fields = { 'next', s.next + fresh, 'rounds', s.rounds }
  local sum = fresh == request.count and extendSum(s.sum, fresh, request.sum)
    or newSum(s.sum, request.epoch .. table.concat(entries))
  if sum then
    fields[5] = 'sum'
    fields[6] = sumText(sum)
  end
  return fields
end

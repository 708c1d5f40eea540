-- Checksum of a log, the field `sum` of `state`: a number that differs for logs that differ, whatever became of them. A
-- reader compares it to know that the log is the one that it has read. A session that lost it has none until `rebuild`.
--
-- `extendSum(sum, count, added)` is that of a log behind `count` more records, whose own checksum is `added`; readers
-- calculate the same by `logSum` of src/store/redis/keys.ts. `newSum(sum, token)` is that of a log that was changed
-- in another way; `token` is of this change only. `sumText(sum)` is its text.
-- `logFields(s, request, fresh, entries)`: the fields of `state`, with their values, that say what the log is behind
-- `fresh` of the request's records. `entries` are of those, where some were known.
--
--- @const sumFactor
--- @const sumModulus

local function extendSum(sum, count, added)
  if not sum then return nil end
  for _ = 1, count do sum = sum * sumFactor % sumModulus end
  return (sum + added) % sumModulus
end
local function newSum(sum, token)
  return sum and tonumber(redis.sha1hex(string.format('%.0f ', sum) .. token):sub(1, 11), 16)
end
local function sumText(sum) return string.format('%.0f', sum) end
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

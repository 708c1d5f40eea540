-- Checksum of a log, the field `sum` of `state`: a number that differs for logs that differ, whatever became of them. A
-- reader compares it to know that the log is the one that it has read. A session that lost it has none until `rebuild`.
--
-- `extendSum(sum, count, added)` is that of a log behind `count` more records, whose own checksum is `added`; readers
-- calculate the same by `logSum` of src/store/redis/keys.ts. `newSum(sum, token)` is that of a log that was changed
-- in another way; `token` is of this change only. `sumText(sum)` is its text.
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

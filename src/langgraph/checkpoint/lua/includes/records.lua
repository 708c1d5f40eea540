-- A record is `<base>|<ranges>|<needs>|<parent>` and, behind a NUL, its text. Positions with a `+` in ranges count from
-- its base. A checkpoint is one record, its writes are one record in each line.
-- `writesOf(stored)` iterates over the records of writes.

local recordPattern = '^(%d+)|([^|]*)|(%d*)|([^%z]*)%z'

local function writesOf(stored)
  return (stored or ''):gmatch('[^\n]+')
end

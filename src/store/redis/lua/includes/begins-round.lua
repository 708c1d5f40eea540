-- `beginsRound(record)`.

local function beginsRound(record)
  return record:byte(10) == 104 and record:sub(1, 15) == '{"type":"human"'
end

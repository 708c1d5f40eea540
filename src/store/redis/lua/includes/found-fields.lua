-- `foundFields(first)`: the values of the fields of `ids` that ARGV names from `first` on, as a list.

local function foundFields(first)
  local found = {}
  for i = first, #ARGV, 7000 do
    for _, value in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, i, math.min(i + 6999, #ARGV)))) do
      found[#found + 1] = value
    end
  end
  return found
end

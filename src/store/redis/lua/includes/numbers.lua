-- `wholeFrom(text, most)`, the number that a field holds; nil unless it is a whole number from 0 to `most`. By default
-- up to 5e13: Lua writes numbers from 1e14 on in another form. `amountFrom(text)` is the same for any number of 0 or
-- more.

local function wholeFrom(text, most)
  local number = text and text:match('^%d+$') and tonumber(text)
  return number and number <= (most or 5e13) and number or nil
end
local function amountFrom(text)
  local number = text and text:match('^%d[%d.e+-]*$') and tonumber(text)
  return number and number < math.huge and number or nil
end

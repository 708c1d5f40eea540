-- where the mark of a turn stands in `ids`. A mark is whether the turn is done, its number of messages, and the first
-- position: `T00000025` in a field of its own, `<name>:T2@5 ` among others in a shared one, which takes half of the
-- memory. A shared field that grows too long is divided among eight by the next character of the names, and holds `/`
-- from then on. So a mark is found by a few lookups however many there are.
--
--- @const mostMarkDigits

local function sharedField(digits)
  return '[turns:' .. digits .. string.rep('.', mostMarkDigits - #digits) .. ']'
end
local function sharedMark(name)
  local digits = ''
  while true do
    local text = redis.call('HGET', KEYS[2], sharedField(digits)) or ''
    if text ~= '/' or #digits == mostMarkDigits then return digits, text, text:find(name .. ':', 1, true) end
    digits = digits .. name:byte(#digits + 1) % 8
  end
end

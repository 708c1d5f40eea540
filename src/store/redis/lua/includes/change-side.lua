-- `isSideAs(expects)` compares side fields: pairs of a field and the SHA-1 of its value, "" for none; nil: nothing.
-- `changeSide(state, from, to, bound)` removes the side fields named in a range of ARGV, and enforces a maximum number.
-- Names are compared bytewise, because Lua's `<` depends on the server's locale.
--
--- @include in-chunks

local function isSideAs(expects)
  for _, pair in ipairs(expects or {}) do
    local stored = redis.call('HGET', KEYS[3], pair[1])
    if (stored and redis.sha1hex(stored) or '') ~= pair[2] then return false end
  end
  return true
end
local function byBytes(a, b)
  for i = 1, math.min(#a, #b) do
    if a:byte(i) ~= b:byte(i) then
      return a:byte(i) < b:byte(i)
    end
  end
  return #a < #b
end
local function changeSide(state, from, to, bound)
  inChunks('HDEL', state, ARGV, from, to)
  if bound then
    local found, prefix, surplus = {}, 'side:' .. bound.prefix, {}
    for _, name in ipairs(redis.call('HKEYS', state)) do
      if name:sub(1, #prefix) == prefix then
        found[#found + 1] = name
      end
    end
    table.sort(found, byBytes)
    for i = 1, #found - bound.keep do
      surplus[i] = found[i]
    end
    inChunks('HDEL', state, surplus)
  end
end

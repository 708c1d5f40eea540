-- A page of an owner's index, newest first, without entries past their expiry.
--
-- KEYS: sessions, summaries.
-- ARGV: the score below which the page begins, or ""; how many entries.
-- Replies: the score at which the next page begins, or ""; then session and value of each entry.
--
-- Looks at no more than a thousand entries beyond the page, so that a page is short rather than slow.
--
-- twin: model/lists.ts
--
--- @include prune
--- @include list-time
--- @const firstScore

prune(500)
local now, limit = math.floor(micros() / 1000), tonumber(ARGV[2])
local reply, found, left, last = { '' }, 0, limit + 1000, ARGV[1] == '' and '+inf' or '(' .. ARGV[1]
while found < limit and left > 0 do
  local page = redis.call('ZREVRANGEBYSCORE', KEYS[1], last, firstScore, 'WITHSCORES', 'LIMIT', 0, limit - found)
  if #page == 0 then return reply end
  local names, marks = {}, {}
  for i = 1, #page, 2 do
    names[#names + 1] = page[i]
    marks[#marks + 1] = '!' .. page[i]
  end
  local expiries = redis.call('ZMSCORE', KEYS[1], unpack(marks))
  local values = redis.call('HMGET', KEYS[2], unpack(names))
  for i, name in ipairs(names) do
    if not expiries[i] or tonumber(expiries[i]) >= now then
      found = found + 1
      reply[#reply + 1], reply[#reply + 2] = name, values[i] or ''
    end
  end
  left, last = left - #names, '(' .. page[#page]
end
if redis.call('ZCOUNT', KEYS[1], firstScore, last) > 0 then reply[1] = last:sub(2) end
return reply

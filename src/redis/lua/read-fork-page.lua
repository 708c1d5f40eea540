-- Records of a session that is copied, from a position on: few enough for one append.
--
-- KEYS: log, ids, state.
-- ARGV: the position, or "" for the oldest; the position where the copy ends, or ""; the largest number of records;
--   the number of bytes after which no more are added.
-- Replies: epoch, cut, base, next, 1 where damaged, records, names of the keys that they are sealed with, owner or "".
--
-- twin: model/forks.ts
--
--- @include load-session

local s, records, bytes = loadSession(), {}, 0
local from = tonumber(ARGV[1]) or s.base
local to, most, enough = math.min(s.next, tonumber(ARGV[2]) or s.next), tonumber(ARGV[3]), tonumber(ARGV[4])
while from >= s.base and from + #records < to and #records < most and bytes < enough do
  local first = from + #records - s.base
  local count = math.min(16, to - from - #records, most - #records)
  local found = redis.call('LRANGE', KEYS[1], first, first + count - 1)
  if #found == 0 then break end
  for _, record in ipairs(found) do
    records[#records + 1], bytes = record, bytes + #record
  end
end
local field = redis.call('HMGET', KEYS[3], 'cut', 'key')
return { s.epoch, field[1] or '', s.base, s.next, s.damaged and 1 or 0, records, field[2] or '', s.owner or '' }

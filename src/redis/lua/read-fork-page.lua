-- Records of a session that is copied, from a position on: few enough for one append.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; the position, or "" for the oldest; the position where the copy ends, or "";
--   the largest number of records; the number of bytes after which no more are added.
-- Replies: SOURCE, epoch, cut, base, next, records, names of the keys that they are sealed with,
--   owner or "" | those of the gate.
--
-- twin: model/forks.ts
--
--- @include gate

local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner damaged key')
if refusal then return refusal end
local records, bytes = {}, 0
local from = tonumber(ARGV[2]) or s.base
local to, most, enough = math.min(s.next, tonumber(ARGV[3]) or s.next), tonumber(ARGV[4]), tonumber(ARGV[5])
while from >= s.base and from + #records < to and #records < most and bytes < enough do
  local first = from + #records - s.base
  local count = math.min(16, to - from - #records, most - #records)
  local found = redis.call('LRANGE', KEYS[1], first, first + count - 1)
  if #found == 0 then break end
  for _, record in ipairs(found) do
    records[#records + 1], bytes = record, bytes + #record
  end
end
local cut = redis.call('HGET', KEYS[3], 'cut') or ''
return { 'SOURCE', s.epoch, cut, s.base, s.next, records, s.key, s.owner or '' }

-- A page of the log by positions, which are exclusive.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; "newest", "before", "after", "around" or "since"; the position, or for the
--   last two the hash of an id; the number of records.
-- Replies: PAGE from to base start next damaged(1/0) head records epoch rev rounds | those of the gate | UNKNOWN (the
--   log does not hold the id).
--
-- twin: store/in-memory/session-data.ts
--
--- @include gate
--- @const digestLength

local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner key')
if refusal then return refusal end
local kind, place, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local base, next = s.base, s.begun and s.next or s.length
local function within(position) return math.min(math.max(position, base), next) end
local from, to
if kind == 'around' or kind == 'since' then
  local stored = redis.call('HGET', KEYS[2], place)
  local position = stored and tonumber(stored:sub(digestLength + 1))
  if not position or position < base or position >= next then return { 'UNKNOWN' } end
  local centred = within(math.min(position - math.floor((limit - 1) / 2), next - limit))
  from = kind == 'since' and position or centred
elseif kind == 'after' then
  from = within(place + 1)
else
  to = within(kind == 'before' and tonumber(place) or next)
  from = math.max(base, to - limit)
end
to = to or math.min(next, from + limit)
local records = to > from and redis.call('LRANGE', KEYS[1], from - base, to - 1 - base) or {}
local head = from < s.start and redis.call('HGET', KEYS[3], 'head') or ''
return { 'PAGE', from, to, base, s.start, next, s.damaged and 1 or 0, head, records, s.epoch, s.rev, s.rounds }

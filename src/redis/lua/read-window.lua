-- A page of the log by positions, which are exclusive.
--
-- KEYS: log, ids, state.
-- ARGV: "newest", "before", "after", "around" or "since"; the position, or for the last two the hash of an id; the
--   number of records; the owner who asks, or "".
-- Replies: PAGE from to base start next damaged(1/0) head records epoch rev | OWNER | UNKNOWN (the log does not hold
--   the id).
--
-- twin: model/pages.ts
--
--- @include load-session
--- @const digestLength

local kind, limit, s = ARGV[1], tonumber(ARGV[3]), loadSession()
local base, next = s.base, s.begun and s.next or s.length
local function within(position) return math.min(math.max(position, base), next) end
if ARGV[4] ~= '' and s.owner and s.owner ~= ARGV[4] then return { 'OWNER' } end
local from, to
if kind == 'around' or kind == 'since' then
  local stored = redis.call('HGET', KEYS[2], ARGV[2])
  local position = stored and tonumber(stored:sub(digestLength + 1))
  if not position or position < base or position >= next then return { 'UNKNOWN' } end
  local centred = within(math.min(position - math.floor((limit - 1) / 2), next - limit))
  from = kind == 'since' and position or centred
elseif kind == 'after' then
  from = within(ARGV[2] + 1)
else
  to = within(kind == 'before' and tonumber(ARGV[2]) or next)
  from = math.max(base, to - limit)
end
to = to or math.min(next, from + limit)
local records = to > from and redis.call('LRANGE', KEYS[1], from - base, to - 1 - base) or {}
local head = from < s.start and redis.call('HGET', KEYS[3], 'head') or ''
return { 'PAGE', from, to, base, s.start, next, s.damaged and 1 or 0, head, records, s.epoch, s.rev }

-- Fields of a session's `state`, all or some, without its log.
--
-- KEYS: log, ids, state; or state alone.
-- ARGV: the request as JSON { owner? }; how the names of the wanted fields begin, or "details" for all but the head and
--   side fields.
-- Replies: STATE, epoch, number of records, 1 where damaged, when it expires or "", fields and values of `state`, and
--   its data key or "" | NONE | those of the gate.
--
-- twin: store/in-memory/session-data.ts
--
--- @include gate
--- @include now

local state, wanted, fields = KEYS[#KEYS], ARGV[2], {}
local s = loadSession(state, KEYS[2] and KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, wanted == 'details' and 'owner' or 'owner key')
if refusal then return refusal end
-- Only ids without a message: a new session begins.
if s.erased then return { 'NONE', 'erased' } end
if s.epoch == '' and s.length == 0 and (s.known == 0 or not s.damaged) then return { 'NONE' } end
for _, name in ipairs(redis.call('HKEYS', state)) do
  local isDetail = name ~= 'head' and name:sub(1, 5) ~= 'side:'
  if wanted == 'details' and isDetail or name:sub(1, #wanted) == wanted then
    fields[#fields + 1], fields[#fields + 2] = name, redis.call('HGET', state, name)
  end
end
local left = math.max(redis.call('PTTL', state), redis.call('PTTL', KEYS[1]))
local expires = left >= 0 and string.format('%.0f', now() + left) or ''
return { 'STATE', s.epoch, s.length, s.damaged and 1 or 0, expires, fields, s.key }

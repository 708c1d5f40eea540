-- Statistics of a session.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }.
-- Replies: STATS, epoch or "", length of the log, rounds, records in the view, tokens of the view or "", counter, 1
--   where the view is the whole log, number of reductions, time of creation or "", time of the last write or "", time
--   of expiry or "", 1 where damaged, the last reductions | those of the gate.
--
-- twin: store/in-memory/session-data.ts
--
--- @include gate
--- @include now

local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
local left = math.max(redis.call('PTTL', KEYS[3]), redis.call('PTTL', KEYS[1]))
local field = redis.call('HMGET', KEYS[3], 'reduced', 'created', 'updated', 'reductions')
local next = s.begun and s.next or s.length
local whole = s.start == s.base and s.base == 0 and s.headCount == 0
local expires = left >= 0 and string.format('%.0f', now() + left) or ''
return {
  'STATS', s.epoch, s.length, s.rounds, s.headCount + math.min(next - s.start, s.length),
  s.tokens and string.format('%.17g', s.tokens) or '', s.counter,
  whole and 1 or 0, field[1] or '0', field[2] or '', field[3] or '', expires, s.damaged and 1 or 0, field[4] or ''
}

-- Acquires the hold and increments the fence, or joins the FIFO queue; begins the session where there is none. Reads
-- its view. A turn that is stored with its answer acquires nothing.
--
-- KEYS: log, ids, state; or state alone, for no view: a cluster refuses a script that names missing keys of a migrating
--   slot. Holder and waiters are fields of `state`, not keys of their own.
-- ARGV: the request as JSON { ticket, holdMs, graceMs, epoch, ttlMs?, owner?, turn? }; four texts of the kept view;
--   fields of `ids`.
-- Replies: VIEW view values | HELD view-or-"" values fence epoch milliseconds-to-live | WAITS number-ahead | those of
--   the gate. The view is as in read-view.lua, the values those of the fields of `ids`.
--
-- twin: store/in-memory/session.ts
--
--- @include kept-view
--- @include gate
--- @include seek-hold
--- @include now
--- @include expire-all
--- @include turn-marks
--- @include view
--- @include found-fields

local state, request = KEYS[#KEYS], cjson.decode(ARGV[1])
local s = loadSession(state)
local refusal = gate(request, s, 'erased owner')
if refusal then return refusal end
local mark = request.turn and readMark(request.turn)
local hold = not (mark and mark.kind == 'T') and seekHold(state, request, s.fence)
if type(hold) == 'number' then return { 'WAITS', hold } end
if hold then keepHold(state, hold) end
if hold and s.epoch == '' then
  local time = now()
  s.epoch = request.epoch
  redis.call('HSET', state, 'epoch', s.epoch, 'rev', s.epoch, 'created', time, 'updated', time)
  if request.ttlMs then expireAll(time + request.ttlMs) end
end
local shown = KEYS[2] and (same or view(first)) or ''
if not hold then return { 'VIEW', shown, foundFields(6) } end
return { 'HELD', shown, foundFields(6), hold.fence, s.epoch, redis.call('PTTL', state) }

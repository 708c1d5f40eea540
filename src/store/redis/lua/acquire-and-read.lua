-- Takes the hold, unless the turn that is named is stored with its answer, and reads the view.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { ticket, holdMs, graceMs, epoch, ttlMs?, owner?, turn? }; four texts of the kept view;
--   fields of `ids`.
-- Replies: VIEW view values | HELD view values fence epoch milliseconds-to-live | WAITS number-ahead | those of the
--   gate. The view is as in read-view.lua, the values those of the fields of `ids`.
--
-- twin: store/in-memory/holds.ts
--
--- @include kept-view
--- @include gate
--- @include begin-held
--- @include read-mark
--- @include view
--- @include found-fields

local state, request = KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state)
local refusal = gate(request, s, 'erased owner')
if refusal then return refusal end
local mark = request.turn and readMark(request.turn)
local hold = not (mark and mark.kind == 'T') and seekHold(state, request, s.fence)
if type(hold) == 'number' then return { 'WAITS', hold } end
local epoch = hold and beginHeld(state, s, request, hold)
if not hold then return { 'VIEW', same or view(first), foundFields(6) } end
return { 'HELD', same or view(first), foundFields(6), hold.fence, epoch, redis.call('PTTL', state) }

-- Acquires the hold and increments the fence, or joins the FIFO queue.
--
-- KEYS: state.
-- ARGV: the request as JSON { ticket, holdMs, graceMs, epoch, ttlMs?, owner? }.
-- Replies: HELD fence epoch milliseconds-to-live | WAITS number-ahead | those of the gate.
--
-- Holder and waiters are fields of `state`, not separate keys, so that one script of one key acquires the hold, and no
-- script names a key that may be missing while a slot migrates.
--
-- twin: store/in-memory/holds.ts
--
--- @include gate
--- @include begin-held

local state, request = KEYS[1], cjson.decode(ARGV[1])
local s = loadSession(state)
local refusal = gate(request, s, 'erased owner')
if refusal then return refusal end
local hold = seekHold(state, request, s.fence)
if type(hold) == 'number' then return { 'WAITS', hold } end
return { 'HELD', hold.fence, beginHeld(state, s, request, hold), redis.call('PTTL', state) }

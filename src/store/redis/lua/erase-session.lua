-- Erases a session and leaves a guard, a tombstone without content that expires.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner?, guardMs, strict, call }: how long the guard stays, true to keep sessions that
--   exist and have no owner, a random name of the call.
-- Replies: GONE, the session's owner or "", "1" if there was a session, "again" if there was its guard, else "0" |
--   those of the gate | KEPT.
--
-- The guard is `state` with an impossible `next`: releases that do not know it find the session damaged,
-- and refuse to write too. It names the call that removed something: the same call, sent again because its reply was
-- lost, says so too. It also names the owner, unless the caller did: a call that does not know it must find its list.
--
-- twin: store/in-memory/lists.ts
--
--- @include gate
--- @include keep-fields
--- @include now

local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[3], nil, nil, redis.pcall)
local refusal = gate(request, s, 'owner')
if refusal then return refusal end
local existed = s.epoch ~= '' or s.left ~= nil
if request.strict and existed and not s.owner and not s.left then return { 'KEPT' } end
local left = s.erased and redis.call('PTTL', KEYS[3]) or 0
local isAgain = s.erased and s.erased:sub(-#request.call) == request.call
local call = (existed or isAgain) and ' ' .. request.call or ''
local owner = s.owner or not request.owner and redis.call('HGET', KEYS[3], 'erasedOwner') or ''
local named = owner ~= '' and not request.owner and { 'erasedOwner', owner } or {}
redis.call('UNLINK', KEYS[1], KEYS[2])
keepFields(KEYS[3], now() + math.max(left, request.guardMs), 'next', 1, 'erased', now() .. call, unpack(named))
return { 'GONE', owner, (existed or isAgain) and '1' or s.erased and 'again' or '0' }

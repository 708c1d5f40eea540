-- Removes a session and puts a guard without content in its place.
--
-- KEYS: log, ids, state.
-- ARGV: the owner who asks, or ""; milliseconds that the guard stays; "1" to leave sessions that exist and have no
--   owner; a random name of the call.
-- Replies: ERASED, the session's owner or "", "1" if there was a session | OWNER.
--
-- The guard is `state` with a `next` that no log agrees with: releases that do not know it find the session damaged,
-- and refuse to write too. It names the call that removed something: the same call, sent again because its reply was
-- lost, says so too (and no longer knows whose the session was).
--
-- twin: model/lists.ts
--
--- @include now

local field = redis.pcall('HMGET', KEYS[3], 'epoch', 'owner', 'erased')
if field.err then field = {} end
local epoch, owner = field[1], field[2]
if ARGV[1] ~= '' and owner and owner ~= ARGV[1] then return { 'OWNER' } end
if ARGV[3] == '1' and epoch and not owner then return { 'OWNER' } end
local left = field[3] and redis.call('PTTL', KEYS[3]) or 0
local isAgain = field[3] and field[3]:sub(-#ARGV[4]) == ARGV[4]
local call = (epoch or isAgain) and ' ' .. ARGV[4] or ''
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[3], 'next', 1, 'erased', now() .. call)
redis.call('PEXPIRE', KEYS[3], math.max(left, tonumber(ARGV[2])))
return { 'ERASED', owner or '', (epoch or isAgain) and '1' or '0' }

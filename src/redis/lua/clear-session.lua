-- Removes a session; a guard stays.
--
-- KEYS: log, ids, state.
-- ARGV: the owner who asks, or ""; the epoch that the session had.
-- Replies: CLEARED and the session's owner or "" | OWNER. A session in another life was cleared meanwhile, perhaps by
--   the same call, and begun anew: it stays.
--
-- twin: model/in-memory-session-store.ts

local field = redis.pcall('HMGET', KEYS[3], 'owner', 'erased', 'epoch')
if field.err then field = {} end
if ARGV[1] ~= '' and field[1] and field[1] ~= ARGV[1] then return { 'OWNER' } end
if (field[3] or '') ~= ARGV[2] then return { 'CLEARED', field[1] or '' } end
redis.call('UNLINK', KEYS[1], KEYS[2])
if not field[2] then redis.call('UNLINK', KEYS[3]) end
return { 'CLEARED', field[1] or '' }

-- Where a copy stands.
--
-- KEYS: log, ids, state of the new session; state of the copy.
-- Replies: ERASED | EXISTS (there is such a session) | NEXT and the position that the next record of the copy gets, or
--   "" where none was copied yet.
--
-- twin: model/transfers.ts

if redis.call('HEXISTS', KEYS[3], 'erased') == 1 then return { 'ERASED' } end
if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then return { 'EXISTS' } end
return { 'NEXT', redis.call('HGET', KEYS[4], 'next') or '' }

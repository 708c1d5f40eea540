-- Which life a session is in.
--
-- KEYS: state.
-- Replies: its epoch, or "" where there is none. A script, because a cluster may send a plain read to a replica that
--   does not know it yet.
--
-- twin: model/in-memory-session-store.ts

local epoch = redis.pcall('HGET', KEYS[1], 'epoch')
return type(epoch) == 'string' and epoch or ''

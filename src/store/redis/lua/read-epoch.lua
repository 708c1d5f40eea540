-- The epoch and the data key of a session. A script, because a cluster may send a plain read to a replica that lags.
--
-- KEYS: state.
-- ARGV: the request as JSON { owner? }.
-- Replies: LIFE epoch key dek, each "" where there is none, and 1 where other keys of it are left without `state` |
--   those of the gate.
--
-- twin: store/in-memory/in-memory-session-store.ts
--
--- @include gate

local s = loadSession(KEYS[1], nil, nil, redis.pcall)
return gate(cjson.decode(ARGV[1]), s, 'owner') or { 'LIFE', s.epoch, s.key, s.dek, s.left and 1 or 0 }

-- The epoch of a session. A script, because a cluster may send a plain read to a replica that lags.
--
-- KEYS: state.
-- ARGV: the request as JSON { owner? }.
-- Replies: LIFE and its epoch, or "" where there is none | those of the gate.
--
-- twin: model/in-memory-session-store.ts
--
--- @include gate

local s = loadSession(KEYS[1], nil, nil, redis.pcall)
return gate(cjson.decode(ARGV[1]), s, 'owner') or { 'LIFE', s.epoch }

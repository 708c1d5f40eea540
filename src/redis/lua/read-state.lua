-- KEYS: state.
-- Replies: field, value, field, value, …
--
-- twin: model/forks.ts

return redis.call('HGETALL', KEYS[1])

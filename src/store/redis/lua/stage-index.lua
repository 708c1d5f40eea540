-- Adds to the `ids` that a rebuild makes of a long session in pieces. Idempotent.
--
-- KEYS: the new `ids`, and what says of whom they are until they take the place of the old.
-- ARGV: the owner or ""; milliseconds to live; pairs of field and value.
-- Replies: STAGED.
--
-- No gate: the keys are not a session's yet.
--
-- twin: store/in-memory/session.ts
--
--- @include in-chunks
--- @include expire-all
--- @include now

redis.call('HSET', KEYS[2], 'next', 0, 'owner', ARGV[1])
inChunks('HSET', KEYS[1], ARGV, 3)
expireAll(now() + ARGV[2])
return { 'STAGED' }

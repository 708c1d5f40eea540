-- Removes what was said to a run and not seen, and leaves a tombstone: a list that only a run of the far future opens.
--
-- KEYS: steers.
-- ARGV: how long the tombstone stays, in milliseconds; "" leaves none.
-- Replies: GONE.
--
-- twin: none, runs are kept in Redis only
--
--- @include expire-all
--- @include now

if ARGV[1] == '' then
  redis.call('UNLINK', KEYS[1])
else
  -- The key stays while its elements go, and RPUSH is not the first write: see the include keep-fields.
  redis.call('LTRIM', KEYS[1], 0, 0)
  redis.call('RPUSH', KEYS[1], '-9007199254740991')
  redis.call('LTRIM', KEYS[1], -1, -1)
  expireAll(now() + ARGV[1])
end
return { 'GONE' }

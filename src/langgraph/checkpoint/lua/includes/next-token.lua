-- `nextToken(thread, seed)` gives the thread the token that names its items from now on: a checksum of the token before
-- and the caller's random one. So two threads have the same token only if all changes of their items were the same,
-- also where a failover brought an older thread back, to which calls were sent again.
--
--- @include thread

local function nextToken(thread, seed)
  thread.token = redis.sha1hex(thread.token .. seed):sub(1, 22)
  return thread.token
end

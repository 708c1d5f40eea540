-- `begin(thread, token)` begins a thread: its first item and member are empty, so that all keys exist.
-- `pushItems(thread, first, seed)` appends the items of ARGV, with which the thread's token changes.
-- `nameOwner(owner)` names the owner of a thread that has none.
-- `expireThread(ttl)` lets all keys expire at one millisecond.
--
--- @include next-token
--- @include now
--- @include in-chunks
--- @include expire-all

local function begin(token)
  call('HSET', checkpoints, 'token', token, 'base', 0, 'next', 1, 'count', 1)
  call('RPUSH', items, '')
  call('ZADD', order, 0, '')
  return { token = token, base = 0, next = 1, count = 1 }
end

local function pushItems(thread, first, seed)
  if #ARGV < first then return end
  thread.next = thread.next + #ARGV - first + 1
  call('HSET', checkpoints, 'next', thread.next, 'token', nextToken(thread, seed))
  inChunks('RPUSH', items, ARGV, first)
end

local function nameOwner(owner)
  if owner then call('HSETNX', checkpoints, 'owner', owner) end
end

local function expireThread(ttl)
  if ttl then expireAll(now() + ttl) end
end

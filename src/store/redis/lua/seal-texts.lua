-- Replaces plain texts of a hash, or of a list whose first position is the field `base` of that hash, by sealed ones
-- where they are as they were read (compare-and-set by hash), and adds the data key that sealed them.
--
-- KEYS: the hash; for texts of a list, the list.
-- ARGV: the line of the data key; of each text its name or position, the SHA-1 of what was read, and the new text.
-- Replies: SEALED and how many were replaced.
--
-- twin: none, threads and items are kept in Redis only
--
--- @include add-key

local hash, list, sealed = KEYS[1], KEYS[2], 0
local base = list and tonumber(redis.call('HGET', hash, 'base')) or 0
for i = 2, #ARGV, 3 do
  local name = list and ARGV[i] - base or ARGV[i]
  local stored
  if not list then
    stored = redis.call('HGET', hash, name)
  elseif name >= 0 then
    stored = redis.call('LINDEX', list, name)
  end
  if stored and redis.sha1hex(stored) == ARGV[i + 1] then
    redis.call(list and 'LSET' or 'HSET', list or hash, name, ARGV[i + 2])
    addKey(hash, ARGV[1])
    sealed = sealed + 1
  end
end
return { 'SEALED', sealed }

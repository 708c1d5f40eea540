-- Closes the list of a run that ends, and drops what the memory has stored; what the run did not see is for the next.
--
-- KEYS: steers.
-- ARGV: the run's time; the names of the messages to drop.
-- Replies: SETTLED | LATE (a newer run has the list).
--
-- twin: none, runs are kept in Redis only

local steers, at = KEYS[1], ARGV[1]
local head = redis.call('LINDEX', steers, 0)
if not head then return { 'SETTLED' } end
if math.abs(tonumber(head)) > tonumber(at) then return { 'LATE' } end
local isStored, rest = {}, {}
for index = 2, #ARGV do isStored[ARGV[index]] = true end
for _, each in ipairs(redis.call('LRANGE', steers, 1, -1)) do
  if not isStored[each:match('^%S+')] then rest[#rest + 1] = each end
end
if #rest == 0 then
  redis.call('UNLINK', steers)
  return { 'SETTLED' }
end
redis.call('LSET', steers, 0, '-' .. at)
redis.call('LTRIM', steers, 0, 0)
redis.call('RPUSH', steers, unpack(rest))
return { 'SETTLED' }

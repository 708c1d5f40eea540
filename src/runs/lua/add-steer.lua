-- Says a message to a run, if it still sees what is said.
--
-- KEYS: steers.
-- ARGV: the run's time; the name of the message; its text; the most messages; milliseconds to live.
-- Replies: ADDED (also where it is there already) | IDLE (the run sees nothing more, or no such run) | FULL.
--
-- twin: none, runs are kept in Redis only

local steers, at, name, text, most, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('LINDEX', steers, 0) ~= at then return { 'IDLE' } end
local held = redis.call('LRANGE', steers, 1, -1)
for _, each in ipairs(held) do
  if each:match('^%S+') == name then return { 'ADDED' } end
end
if #held >= tonumber(most) then return { 'FULL' } end
redis.call('RPUSH', steers, name .. ' ' .. text)
redis.call('PEXPIRE', steers, ttl)
return { 'ADDED' }

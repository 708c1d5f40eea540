-- Releases a hold, or leaves the queue. A session that holds only the fields written by taking the hold (epoch, rev,
-- created, updated and fence) is deleted; without its epoch, no late write of the turn passes.
--
-- KEYS: state.
-- ARGV: ticket.
-- Replies: LEFT.
--
-- No gate: the ticket, known to its holder only, authorizes the call; the reply reveals nothing of the session.
--
-- twin: store/in-memory/session-data.ts
--
--- @include holder

local state, ticket = KEYS[1], ARGV[1]
local field, waiters, waits = redis.call('HMGET', state, 'holder', 'waiters', 'next'), {}, false
for other, seen in (field[2] or ''):gmatch('(%S+) (%d+)') do
  if other == ticket then waits = true else waiters[#waiters + 1] = other .. ' ' .. seen end
end
if waits and #waiters > 0 then redis.call('HSET', state, 'waiters', table.concat(waiters, ' ')) end
if waits and #waiters == 0 then redis.call('HDEL', state, 'waiters') end
if holderOf(field[1]) ~= ticket then return { 'LEFT' } end
redis.call('HDEL', state, 'holder')
if not field[3] and #waiters == 0 and redis.call('HLEN', state) == 5 then redis.call('UNLINK', state) end
return { 'LEFT' }

-- The last rounds, found by walking back from the end of the log in chunks.
--
-- KEYS: log, ids, state.
-- ARGV: how many rounds; the owner who asks, or "".
-- Replies: OWNER, or base, rounds of the session, "1" where damaged, index of the first record, records.
--
-- twin: model/session.ts
--
--- @include load-session
--- @include begins-round

local log, s = KEYS[1], loadSession()
if ARGV[2] ~= '' and s.owner and s.owner ~= ARGV[2] then return { 'OWNER' } end
local wanted, first, chunk = tonumber(ARGV[1]), s.length, 16
while first > 0 and wanted > 0 do
  local from = math.max(0, first - chunk)
  local records = redis.call('LRANGE', log, from, first - 1)
  while first > from and wanted > 0 do
    if beginsRound(records[first - from]) then wanted = wanted - 1 end
    first = first - 1
  end
  chunk = math.min(2 * chunk, 64)
end
return { s.base, s.rounds, s.damaged and '1' or '0', first, redis.call('LRANGE', log, first, -1) }

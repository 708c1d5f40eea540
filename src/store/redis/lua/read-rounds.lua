-- The last rounds, found by walking back from the end of the log in chunks.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { owner? }; how many rounds.
-- Replies: ROUNDS, base, rounds of the session, "1" where damaged, index of the first record, records | those of the
--   gate.
--
-- twin: store/in-memory/session.ts
--
--- @include gate
--- @include begins-round

local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner key')
if refusal then return refusal end
local wanted, first, chunk = tonumber(ARGV[2]), s.length, 16
while first > 0 and wanted > 0 do
  local from = math.max(0, first - chunk)
  local records = redis.call('LRANGE', KEYS[1], from, first - 1)
  while first > from and wanted > 0 do
    if beginsRound(records[first - from]) then wanted = wanted - 1 end
    first = first - 1
  end
  chunk = math.min(2 * chunk, 64)
end
return { 'ROUNDS', s.base, s.rounds, s.damaged and '1' or '0', first, redis.call('LRANGE', KEYS[1], first, -1) }

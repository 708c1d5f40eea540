-- Removes the runs of a session, and leaves a tombstone: an entry `x` behind all others.
--
-- KEYS: run.
-- ARGV: the request as JSON { owner?, isNamelessOwn, guardMs?, isCleared? }: whose runs go, true to remove also those
--   that name nobody, how long the tombstone stays (without it there is none, and a run under way stays), and true
--   where new runs may begin: the tombstone, which only a run leaves then, refuses what is left of that run.
-- Replies: GONE and "1" if there was a run | KEPT (it is another owner's, nobody's, or under way).
--
-- twin: none, runs are kept in Redis only
--
--- @include expire-all
--- @include now
--- @include last-run

local request, last = cjson.decode(ARGV[1]), lastRun(KEYS[1])
local isRun = last ~= nil and not last.isErased
if isRun then
  local owner = last.meta and cjson.decode(last.meta).owner
  local isOwn = not request.owner or owner == request.owner or not owner and request.isNamelessOwn
  if not isOwn or not request.guardMs and not last.ending then return { 'KEPT' } end
end
if not isRun and (request.isCleared or not request.guardMs) then return { 'GONE', '0' } end
local left = last and last.isErased and redis.call('PTTL', KEYS[1]) or 0
if not request.guardMs then
  redis.call('UNLINK', KEYS[1])
  return { 'GONE', '1' }
end
-- The key stays while its entries go, and XADD is not the first write: see the include keep-fields.
local at = now() + math.max(left, request.guardMs)
expireAll(at)
local id = string.format('%.0f-0', math.max(now(), last and last.at + 1 or 0))
redis.call('XADD', KEYS[1], 'MAXLEN', 1, id, 'x', request.isCleared and 'cleared' or '')
expireAll(at)
return { 'GONE', isRun and '1' or '0' }

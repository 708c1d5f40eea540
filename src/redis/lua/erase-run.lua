-- Removes the runs of a session, and leaves a tombstone: an entry `x` behind all others.
--
-- KEYS: run.
-- ARGV: the request as JSON { owner?, isNamelessOwn, guardMs? }: whose runs go, true to remove also those that name
--   nobody, how long the tombstone stays; without `guardMs` there is none, and a run under way stays.
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
if last and last.isErased and not request.guardMs then return { 'GONE', '0' } end
local left = last and last.isErased and redis.call('PTTL', KEYS[1]) or 0
redis.call('UNLINK', KEYS[1])
if request.guardMs then
  redis.call('XADD', KEYS[1], string.format('%.0f-0', math.max(now(), last and last.at + 1 or 0)), 'x', '')
  expireAll(now() + math.max(left, request.guardMs))
end
return { 'GONE', isRun and '1' or '0' }

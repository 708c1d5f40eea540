-- Truncates the log, if the session is unchanged since the read (compare-and-set). Deletes a session that is left
-- without record, head, owner, title and discarded records, unless it is held.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { epoch, rev, next, last?, newRev, to, owner?, fencingToken? }; packed hashes of the ids
--   to forget; pairs of the name of a turn and the number of records that it loses.
-- Replies: REWOUND owner | those of the gate | STALE | RANGE (the position lies outside the log).
--
-- twin: store/in-memory/session.ts
--
--- @include gate
--- @include as-read
--- @include truncate

local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[3], KEYS[1], KEYS[2])
local function repeated() return s.rev == request.newRev and { 'REWOUND', s.owner or '' } end
local refusal = gate(request, s, nil, repeated)
if refusal then return refusal end
if s.next ~= request.next or not isAsRead(s, request) then return { 'STALE' } end
if request.to < s.base or request.to > s.next then return { 'RANGE' } end
local shown = request.to < s.start or request.to == s.start and s.headCount == 0
local headless = shown or redis.call('HSTRLEN', KEYS[3], 'head') == 0
local named = s.owner or redis.call('HEXISTS', KEYS[3], 'title') > 0 or s.base > 0
local stays = named or redis.call('HEXISTS', KEYS[3], 'holder') == 1
if request.to == s.base and headless and not stays then
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  return { 'REWOUND', '' }
end
truncate(s, request.to, request.newRev, ARGV[2], ARGV, 3)
redis.call('HSET', KEYS[3], 'rev', request.newRev, 'cut', request.newRev)
return { 'REWOUND', s.owner or '' }

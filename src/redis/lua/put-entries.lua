-- Writes entries of an owner's index.
--
-- KEYS: sessions, summaries.
-- ARGV: the request as JSON { mode, mark?, own? }; for each entry the session, the version of what is written (the
--   time at which the session was read, in microseconds), its expiry in milliseconds or "", the score that is its
--   place by time, and its value.
--
-- `mode`: `front` moves the entry to the front, `place` to its place by time, `keep` leaves it where it is. `announce`
-- comes before a first write, which may be refused: it puts `?` and the time before the value, so that readers look at
-- the session itself until the entry is written again, and gives a place to a session that has none. An entry with `?`
-- gets its place by time, if that is later: its writer may have been killed. One that is newer than what is to be
-- written stays, but `front` moves it where nobody has since that write: a rename by another process may have read the
-- session later, and left it where it was.
--
-- Replies: OK, and the numbers of the entries that were new or announced, or for an announcement its stamp, or ""
--   where it took the place of one that is not `own` | MARKED mark (the owner is being erased, or was: see
--   `mark-owner`).
--
-- twin: model/lists.ts
--
--- @include list-time
--- @include stamp-of
--- @include scores
--- @include prune
--- @include expire-lists

local request = cjson.decode(ARGV[1])
local mark, announces = redis.call('HGET', KEYS[2], '!'), request.mode == 'announce'
local ends = mark and tonumber(redis.call('ZSCORE', KEYS[1], '!')) or 0
local isKnown = mark ~= 'erasing' and mark == request.mark
if mark and ends * 1000 > micros() and not isKnown and not announces then return { 'MARKED', mark } end
local reply = { 'OK' }
for i = 2, #ARGV, 5 do
  local session, version, expiry, value = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 4]
  local score, stored = redis.call('ZSCORE', KEYS[1], session), redis.call('HGET', KEYS[2], session) or ''
  local stamp, wasAnnounced = stampOf(stored), stored:byte(1) == 63
  local last = wasAnnounced and stored:sub(#stamp + 2) or stored
  if announces then value = '?' .. whole(micros()) .. ' ' .. last end
  if announces or version >= (tonumber(stampOf(last)) or 0) then
    if not announces and (not score or wasAnnounced) then reply[#reply + 1] = (i - 2) / 5 end
    local isLate = score and wasAnnounced and math.floor(ARGV[i + 3] / 1000) > math.floor(score / 1000)
    if request.mode == 'front' or announces and not score then
      score = whole(front())
    elseif not score or request.mode == 'place' or isLate and not announces then
      score = whole(place(tonumber(ARGV[i + 3])))
    end
    redis.call('ZADD', KEYS[1], score, session)
    redis.call('HSET', KEYS[2], session, value)
    if expiry ~= '' then
      redis.call('ZADD', KEYS[1], expiry, '!' .. session)
    elseif not announces then
      redis.call('ZREM', KEYS[1], '!' .. session)
    end
  elseif request.mode == 'front' and score and math.floor(ARGV[i + 3] / 1000) > math.floor(score / 1000) then
    redis.call('ZADD', KEYS[1], whole(front()), session)
  end
  if announces then reply[2] = wasAnnounced and stamp ~= request.own and '' or stampOf(value) end
end
prune(8)
expireIndex()
return reply

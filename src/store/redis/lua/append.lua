-- Appends a turn atomically, with changes of side fields; with `cut`, after truncating the log. Without records it only
-- rewinds, and deletes a session of which nothing is left, or writes side fields.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { epoch, count, at, rounds, sum, sets, keep, counter?, tokens?, total?, expectedNext?,
--   expectedEpoch?, fencingToken?, ttl?, bound?, expects?, maxMessages?, maxTokens?, maxFromStart?, owner?, label?,
--   labelVersion?, usage?, digests?, turn?: { name, stored, done }, cut?: { epoch, rev, next, newRev, to, hashes,
--   losses }, keys?: { name?, key?, dek? }, take?: { ticket, holdMs, graceMs }, release?: ticket };
--   `count` pairs of an id's hash and the digest with the position that the record gets if the log ends before `at`;
--   `sets` pairs of field and value; `removes` fields; `count` records, of which `rounds` begin a round. `expects` are
--   pairs of a side field and the SHA-1 of its value, "" for none.
-- Replies: OK appended duplicates conflicts next epoch [view or ""] [owner or ""] | those of the gate | TURN
--   done count first next epoch records [view] (the claim does not fit the turn's mark; done is 2 where this append
--   was made before) | DIFFERS (an id with another digest may be one of plain text: ask with `digests`) | POSITION
--   next | STALE (the cut, or a side field) | CONFLICT index | WAITS number-ahead next epoch
--   (nothing is written) | TOOK fence epoch milliseconds-to-live reply (an OK or TURN, with the hold).
--
-- A request with records only does not begin with JSON, and mostly takes the short path, `plain-append`.
--
-- In the common case (all records are new, and the log ends at `at`) arguments are passed on unchanged, because Lua
-- work per record would dominate the cost. The first write is an HSET, which a full server refuses before anything has
-- changed (an UNLINK first would let all later writes pass).
--
-- twin: store/in-memory/append.ts
--
--- @include plain-append
--- @include gate
--- @include repeated-append
--- @include as-read
--- @include truncate
--- @include turn-marks
--- @include begins-round
--- @include now
--- @include claim
--- @include log-sum
--- @include note-key
--- @include in-chunks
--- @include change-side
--- @include explain-ids
--- @include count-usage
--- @include expire-all
--- @include exceeds
--- @include view
--- @include append-hold
--- @const digestLength
--- @const ownerField

local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, s = cjson.decode(at and ARGV[1]:sub(from) or ARGV[1]), loadSession(state, log, ids)
local count, firstRecord, cut, turn = request.count, #ARGV - request.count, request.cut, request.turn
local reply, mark, known, duplicates, fresh, conflicts, repeats, atEnd
local refusal, hold = holdFor(request, s, gate(request, s, nil, function()
  reply, mark, known, duplicates, fresh, conflicts, repeats, atEnd = repeatedAppend(request, s)
  return reply
end))
if refusal then return refusal end
if request.expectedNext and request.expectedNext ~= s.next and not repeats then return { 'POSITION', s.next } end
if cut and not (atEnd and isAsRead(s, cut)) or not isSideAs(request.expects) then return { 'STALE' } end
if #conflicts > 0 and not request.keep then return { 'CONFLICT', conflicts[1] } end
if s.epoch == '' and fresh == 0 and request.sets == 0 then return { 'OK', 0, duplicates, conflicts, 0, '' } end
if cut and request.count == 0 and endsAt(s, cut.to) then return endSession() end
if cut then truncate(s, cut.to, cut.newRev, cut.hashes, cut.losses, 1) end
if cut and turn then mark = readMark(turn.name) end
local total, counter = s.tokens, s.counter
if fresh > 0 then
  total = s.begun and s.counter == request.counter and s.tokens or (not s.begun and 0 or nil)
  total, counter = request.tokens and total, request.counter
end
local asPlanned, entries, added = fresh == count and request.at == s.next, {}, {}
if asPlanned then s.rounds, total = s.rounds + request.rounds, total and total + (request.total or 0) end
for i = asPlanned and count + 1 or 1, count do
  if not known[i] then
    added[#added + 1] = ARGV[firstRecord + i]
    entries[2 * #added - 1] = ARGV[2 * i]
    entries[2 * #added] = ARGV[2 * i + 1]:sub(1, digestLength) .. s.next + #added - 1
    s.rounds = s.rounds + (beginsRound(ARGV[firstRecord + i]) and 1 or 0)
    total = total and total + request.tokens[i]
  end
end
local time, nextPosition = now(), s.next + fresh
local fields = { 'updated', time, unpack(logFields(s, request, fresh, entries)) }
local function set(name, value) fields[#fields + 1] = name; fields[#fields + 1] = value end
if s.epoch == '' then s.epoch = request.epoch; set('epoch', s.epoch); set('rev', s.epoch); set('created', time) end
if not cut or count > 0 then claim(request, s, set) end
if cut then set('rev', cut.newRev); set('cut', cut.newRev) end
if request.fencingToken then set('fence', request.fencingToken) end
local noted = (fresh > 0 or request.sets > 0) and noteKey(request, s, set)
if total then set('tokens', string.format('%.17g', total)); set('counter', counter) end
local firstSide = 2 * (count + 1)
for i = firstSide, firstSide + 2 * request.sets - 1 do fields[#fields + 1] = ARGV[i] end
inChunks('HSET', state, fields)
changeHold(hold, request.release)
if not s.begun and s.known > 0 and fresh > 0 then redis.call('UNLINK', ids) end
if not total and s.tokens then redis.call('HDEL', state, 'tokens', 'counter') end
changeSide(state, firstSide + 2 * request.sets, firstRecord, request.bound)
if fresh > 0 then explainIds(s.begun and s.known or 0, fresh + (turn and not mark and 1 or 0), s.length == 0) end
if s.length == 0 and fresh > 0 or noted and s.length > 0 then keepKey(s, ids) end
if fresh > 0 and s.length == 0 and s.owner then redis.call('HSET', ids, ownerField, s.owner) end
if asPlanned then inChunks('HSET', ids, ARGV, 2, firstSide - 1) else inChunks('HSET', ids, entries) end
if asPlanned then inChunks('RPUSH', log, ARGV, firstRecord + 1) else inChunks('RPUSH', log, added) end
if turn and (mark or fresh > 0) then markTurn(turn, mark, fresh, s.next) end
if request.usage then countUsage(request.usage, known) end
local left = request.ttl or (s.length == 0 and fresh > 0 and redis.call('PTTL', state) or -1)
if left >= 0 then expireAll(time + left) end
local shown = exceeds(request, s, nextPosition, total, counter) and view() or ''
return heldReply(hold, s, { 'OK', fresh, duplicates, conflicts, nextPosition, s.epoch, shown, s.owner or '' })

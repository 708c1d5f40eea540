import { beginsRound, changeSide, inChunks, loadSession, now, slice, sortOut, view } from "./fragments.js";
import { script } from "./script.js";

/**
 * Appends a turn, all of it or nothing.
 *
 * KEYS: log, ids, state.
 * ARGV: the request as JSON { epoch, rev, count, sets, removes, keep, counter?, tokens?, expectedNext?, expectedEpoch?, fence?, ttl?,
 * bound?, maxMessages?, maxTokens? }; packed identities; `sets` pairs of field and value; `removes` fields; `count` records.
 * Replies: OK appended duplicates conflicts next epoch [view] | DAMAGED | EPOCH | FENCED | POSITION next | CONFLICT index.
 *
 * The first write is an HSET, which a full server refuses: then nothing has changed (an UNLINK first would let all later writes pass).
 */
export const appendScript = script(
  [loadSession, view, inChunks, beginsRound, now, slice, changeSide, sortOut],
  `
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, s = cjson.decode(ARGV[1]), loadSession()
if s.damaged then return { 'DAMAGED' } end
local fresh, duplicates, conflicts = sortOut(s, request.count, ARGV[2])
local refused = #conflicts > 0 and not request.keep
local repeats = request.count > 0 and #fresh == 0 and not refused
local expected = request.expectedEpoch
if expected and expected ~= s.epoch and not (repeats and expected == '') then return { 'EPOCH' } end
if request.fence and request.fence < s.fence then return { 'FENCED' } end
if request.expectedNext and request.expectedNext ~= s.next and not repeats then return { 'POSITION', s.next } end
if refused then return { 'CONFLICT', conflicts[1] } end
if s.epoch == '' and #fresh == 0 and request.sets == 0 then return { 'OK', 0, duplicates, conflicts, 0, '' } end
local firstRecord, added, entries = #ARGV - request.count, {}, {}
local total, counter = s.tokens, s.counter
if #fresh > 0 then
  total = s.begun and s.counter == request.counter and s.tokens or (not s.begun and 0 or nil)
  total, counter = request.tokens and total, request.counter
end
for offset, i in ipairs(fresh) do
  local record, position = ARGV[firstRecord + i], s.next + offset - 1
  added[offset] = record
  entries[2 * offset - 1] = ARGV[2]:sub(16 * i - 15, 16 * i - 6)
  entries[2 * offset] = ARGV[2]:sub(16 * i - 5, 16 * i) .. position
  s.rounds = s.rounds + (beginsRound(record) and 1 or 0)
  total = total and total + request.tokens[i]
end
local time, nextPosition, fields = now(), s.next + #fresh, {}
local function set(name, value) fields[#fields + 1] = name; fields[#fields + 1] = value end
set('updated', time)
if s.epoch == '' then s.epoch = request.epoch; set('epoch', s.epoch); set('rev', request.rev) end
if #fresh > 0 and not s.begun then set('base', s.base); set('start', s.start) end
if #fresh > 0 then set('next', nextPosition); set('rounds', s.rounds) end
if request.fence then set('fence', request.fence) end
if total then set('tokens', string.format('%.17g', total)); set('counter', counter) end
for i = 3, 2 + 2 * request.sets do fields[#fields + 1] = ARGV[i] end
inChunks('HSET', state, fields)
if s.length == 0 and s.known > 0 and #fresh > 0 then redis.call('UNLINK', ids) end
if not total and s.tokens then redis.call('HDEL', state, 'tokens', 'counter') end
changeSide(state, slice(ARGV, 3 + 2 * request.sets, firstRecord), request.bound)
inChunks('HSET', ids, entries)
if #fresh == request.count then inChunks('RPUSH', log, ARGV, firstRecord + 1) else inChunks('RPUSH', log, added) end
local left = request.ttl or (s.length == 0 and #fresh > 0 and redis.call('PTTL', state) or -1)
if left >= 0 then
  local at = string.format('%.0f', time + left)
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, at) end
end
local exceeds = request.maxMessages and s.headCount + nextPosition - s.start > request.maxMessages
if request.maxTokens then
  exceeds = exceeds or not total or counter ~= request.counter or total > request.maxTokens
end
return { 'OK', #fresh, duplicates, conflicts, nextPosition, s.epoch, exceeds and view() or nil }
`,
);

import { turnNameLength } from "../../store/turns.js";
import { digestLength, idHashLength } from "../id-hash.js";
import { restoreDiscarded } from "./discard-fragments.js";
import { explainIds, inChunks, now, wholeFrom } from "./fragments.js";
import { mostOwn, readMark, writeMark } from "./mark-fragments.js";
import { forbid } from "./owner-fragments.js";
import { script } from "./script.js";

const identityLength = idHashLength + digestLength;

/**
 * Lua: `mend(length, roundsInLog)` makes the numbers in `state` agree with a log of that length, and returns its base.
 * Numbers that can be read and that fit stay. Needs `wholeFrom`.
 *
 * A lost log leaves nothing to show: positions go on from `next`, so that none is given twice, and the head stays.
 * Where the start cannot be read, the view is the whole log behind the head.
 */
const mend = `
local function mend(length, roundsInLog)
  local state, number, text = KEYS[3], {}, {}
  local names = { 'base', 'start', 'next', 'headCount', 'rounds', 'tokens', 'fence', 'head' }
  for i, value in ipairs(redis.call('HMGET', state, unpack(names))) do
    text[names[i]], number[names[i]] = value, wholeFrom(value, i == 7 and 2 ^ 53 or nil)
  end
  if text.fence and not number.fence then redis.call('HDEL', state, 'fence') end
  if not text.next and length == 0 then
    redis.call('HDEL', state, 'base', 'start', 'headCount', 'rounds', 'tokens', 'counter', 'head')
    return 0
  end
  if not text.base and number.next == length then number.base = 0 end
  local base, next = number.base or 0, number.next
  local whole = number.base and next and length == next - base
  if not whole and length == 0 then base = next or base end
  if not number.base and next and length > 0 and next >= length then base = next - length end
  if base + length > 5e13 then base = 0 end
  next = base + length
  local start = math.max(number.start or base, base)
  local isBeyond = start > next
  if isBeyond then redis.call('HDEL', state, 'head', 'headCount') end
  if isBeyond or not number.start then start = base end
  local rounds = number.rounds or roundsInLog
  if length > 0 and (not whole or rounds < roundsInLog) or rounds > next then rounds = roundsInLog end
  if not whole or isBeyond or not amountFrom(text.tokens) then
    redis.call('HDEL', state, 'tokens', 'counter')
  end
  if not isBeyond and text.headCount and not number.headCount then
    redis.call('HSET', state, 'headCount', (text.head or '') == '' and 0 or 1)
  end
  redis.call('HSET', state, 'base', base, 'start', start, 'next', next, 'rounds', rounds)
  return base
end`;

/**
 * Lua: `restoreTurns(base, length)` marks the turns that `state` names as discarded, where that can be read, and those
 * that ARGV names. Needs `writeMark`.
 */
const restoreTurns = `
local function discardedTurns()
  local names = redis.call('HGET', KEYS[3], 'turns') or ''
  if #names % ${turnNameLength} ~= 0 or names:match('[^%w_-]') then
    redis.call('HDEL', KEYS[3], 'turns')
    names = ''
  end
  local marks = {}
  for at = 1, #names, ${turnNameLength} do
    marks[names:sub(at, at + ${turnNameLength - 1})] = { 'T', 0, 0 }
  end
  return marks
end
local function restoreTurns(base, length)
  local marks, entries, own = discardedTurns(), {}, length + #ARGV / 3 <= ${mostOwn}
  for i = 3, #ARGV, 3 do
    local kind, count = ARGV[i + 1]:match('^([Tt])(%d+)$')
    marks[ARGV[i]] = { kind, tonumber(count), base + ARGV[i + 2] }
  end
  for name, mark in pairs(marks) do
    if own then writeMark(name, unpack(mark)) else entries[#entries + 1] = sharedEntry(name, unpack(mark)) end
  end
  if #entries > 0 then putShared('', entries) end
end`;

/**
 * Writes `ids` anew and makes `state` agree with the log, if the session is as it was read. Keys `ids` and `state` of
 * another type count as lost.
 *
 * KEYS: log, ids, state. ARGV: what was read, as JSON { length, fields: [epoch, rev, base, next] }, with { newEpoch,
 * newRev, rounds, keys, owner? }; hash and digest of each record of the log, one after the other; for each turn its
 * name, the beginning of its mark and the index in the log of its first record. Replies: REBUILT owner | CHANGED |
 * ERASED | OWNER.
 */
export const rebuildScript = script(
  [inChunks, now, wholeFrom, explainIds, readMark, writeMark, mend, restoreTurns, restoreDiscarded, forbid],
  `
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, length = cjson.decode(ARGV[1]), redis.call('LLEN', log)
local field = redis.pcall('HMGET', state, 'epoch', 'rev', 'base', 'next', 'owner', 'erased')
local isHash = not field.err
local refusal = forbid(request, { owner = field[5] or nil, erased = field[6] })
if refusal then return refusal end
if field[2] == request.newRev then return { 'REBUILT', redis.call('HGET', state, 'owner') or '' } end
for i = 1, 4 do
  if (isHash and field[i] or '') ~= request.fields[i] then return { 'CHANGED' } end
end
if length ~= request.length then return { 'CHANGED' } end
local left = redis.call('PTTL', length > 0 and log or state)
if not isHash then redis.call('UNLINK', state) end
if length == 0 and (not isHash or redis.call('HLEN', state) == 0) then
  redis.call('UNLINK', ids)
  return { 'REBUILT', redis.call('HGET', state, 'owner') or '' }
end
if request.fields[1] == '' then redis.call('HSET', state, 'epoch', request.newEpoch) end
redis.call('HSET', state, 'rev', request.newRev, 'cut', request.newRev, 'updated', now())
local key = redis.call('HGET', state, 'key') or ''
for _, name in ipairs(request.keys) do
  if not (' ' .. key .. ' '):find(' ' .. name .. ' ', 1, true) then key = key .. ' ' .. name end
end
if #request.keys > 0 then redis.call('HSET', state, 'key', key:match('^%s*(.-)$')) end
if request.owner then redis.call('HSETNX', state, 'owner', request.owner) end
redis.call('UNLINK', ids)
local base = mend(length, request.rounds)
if length > 0 then explainIds(0, length + #ARGV / 3, true) end
restoreTurns(base, length)
restoreDiscarded()
local entries = {}
for i = 1, length do
  local at = ${identityLength} * (i - 1)
  entries[2 * i - 1] = ARGV[2]:sub(at + 1, at + ${idHashLength})
  local digest = ARGV[2]:sub(at + ${idHashLength + 1}, at + ${identityLength})
  entries[2 * i] = digest .. string.format('%.0f', base + i - 1)
end
inChunks('HSET', ids, entries)
local at = string.format('%.0f', now() + left)
for _, key in ipairs(KEYS) do
  if left >= 0 then redis.call('PEXPIREAT', key, at) else redis.call('PERSIST', key) end
end
return { 'REBUILT', redis.call('HGET', state, 'owner') or '' }
`,
);

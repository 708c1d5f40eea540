// Written by `npm run lua` from the .lua files of this folder. Change those.

import { script, type ScriptPart } from "../../redis/script.js";

export const addSteerAt9: ScriptPart = {
  file: "add-steer.lua",
  line: 9,
  text: `\
local steers, at, name, text, most, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('LINDEX', steers, 0) ~= at then return { 'IDLE' } end
local held = redis.call('LRANGE', steers, 1, -1)
for _, each in ipairs(held) do
if each:match('^%S+') == name then return { 'ADDED' } end
end
if #held >= tonumber(most) then return { 'FULL' } end
redis.call('RPUSH', steers, name .. ' ' .. text)
redis.call('PEXPIRE', steers, ttl)
return { 'ADDED' }`,
};

export const topOfRunAt4: ScriptPart = {
  file: "includes/top-of-run.lua",
  line: 4,
  text: `\
local function topOfRun(run)
local top = redis.call('XREVRANGE', run, '+', '-', 'COUNT', 1)[1]
if not top then return nil end
local at, batch = top[1]:match('^(%d+)-(%d+)$')
return at, batch, top[2]
end`,
};

export const addToRunAt12: ScriptPart = {
  file: "add-to-run.lua",
  line: 12,
  text: `\
local run, at, batch, kind, text = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local topAt, last, fields = topOfRun(run)
if not topAt or tonumber(topAt) < tonumber(at) then return { 'GONE' } end
if topAt == at and tonumber(last) == batch - 1 then
redis.call('XADD', run, at .. '-' .. batch, kind, text)
return { 'ADDED', batch }
end

if redis.call('XRANGE', run, at .. '-' .. batch, at .. '-' .. batch)[1] then return { 'ADDED', batch } end
if topAt ~= at or fields[1] == 'e' then return { 'LATE' } end
return { 'ADDED', last }`,
};

export const nowAt3: ScriptPart = {
  file: "includes/now.lua",
  line: 3,
  text: `\
local function now()
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
end`,
};

export const lastRunAt7: ScriptPart = {
  file: "includes/last-run.lua",
  line: 7,
  text: `\
local function lastRun(run)
local at, _, fields = topOfRun(run)
if not at then return nil end
local first = redis.call('XRANGE', run, at .. '-0', at .. '-0')[1]
local isErased = fields[1] == 'x'
local meta = not isErased and first and first[2][2] or nil
return { at = at, meta = meta, ending = fields[1] == 'e' and fields[2] or nil, isErased = isErased }
end`,
};

export const beginRunAt16: ScriptPart = {
  file: "begin-run.lua",
  line: 16,
  text: `\
local run, meta, ttl, again = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local last = lastRun(run)
if last and last.isErased then return { 'ERASED' } end

if last and last.meta == meta and not last.ending then return { 'BEGUN', last.at } end
if last and again ~= '' and tonumber(last.at) >= tonumber(again) then return { 'OVER' } end
if last and again == '' and last.meta and not last.ending then return { 'BUSY', last.at, last.meta } end
local at = again ~= '' and again or string.format('%.0f', math.max(now(), last and last.at + 1 or 0))
redis.call('XADD', run, at .. '-0', 'b', meta)
if last then redis.call('XTRIM', run, 'MINID', last.at) end
redis.call('PEXPIRE', run, ttl)
return { 'BEGUN', at }`,
};

export const numbersAt5: ScriptPart = {
  file: "includes/numbers.lua",
  line: 5,
  text: `\
local function wholeFrom(text, most)
local number = text and text:match('^%d+$') and tonumber(text)
return number and number <= (most or 5e13) and number or nil
end
local function amountFrom(text)
local number = text and text:match('^%d[%d.e+-]*$') and tonumber(text)
return number and number < math.huge and number or nil
end`,
};

export const ownerLeftAt10: ScriptPart = {
  file: "includes/owner-left.lua",
  line: 10,
  text: `\
local function ownerLeft(state)
local stem = state:match('^(.*:)state$')
if not stem then return nil end
local left = redis.pcall('HMGET', stem .. 'ids', '[owner]', '[key]', '[dek]')

if redis.call('EXISTS', stem .. 'log') == 0 then left = { left[1] } end
if left[1] then return { name = left[1], key = left[2], dek = left[3] } end
local marks, isLeft = {}, redis.call('EXISTS', stem .. 'ids') == 1
for _, at in ipairs({ 0, -1 }) do
local record = redis.pcall('LINDEX', stem .. 'log', at)
if type(record) == 'string' then
isLeft = true
marks[#marks + 1] = record:match('^[^\\n]*'):match('"owner":"(%x%x%x%x%x%x%x%x%x%x%x%x)"}}$')
end
end
return isLeft and { marks = marks, key = left[2], dek = left[3] } or nil
end`,
};

export const loadSessionAt13: ScriptPart = {
  file: "includes/load-session.lua",
  line: 13,
  text: `\
local function loadSession(state, log, ids, read)
local field = (read or redis.call)('HMGET', state, 'epoch', 'rev', 'base', 'start', 'next', 'headCount', 'tokens',
'counter', 'rounds', 'fence', 'key', 'owner', 'erased', 'label', 'sum', 'dek')
local isHash, sound = not field.err, true
if not isHash then field = {} end
local function whole(text, most)
local number = wholeFrom(text or '0', most)
sound = sound and number ~= nil
return number or 0
end
local s = {
epoch = field[1] or '', rev = field[2] or '', base = whole(field[3]), start = whole(field[4]),
next = whole(field[5]), begun = field[5] and true or false, headCount = whole(field[6]),
tokens = amountFrom(field[7]), counter = field[8] or '',
rounds = whole(field[9]), fence = whole(field[10], 2 ^ 53), key = field[11] or '',
owner = field[12] or nil, erased = field[13], label = field[14], isHash = isHash,
sum = wholeFrom(field[15] or not field[5] and '0' or nil, 140737488355213),
last = 0, length = 0, known = 0, damaged = false
}
sound = sound and (not field[7] or s.tokens ~= nil)
if s.erased then s.next, s.begun = 0, false end
s.dek = field[16] or ''
if not s.owner and not s.begun and not s.erased then s.left = ownerLeft(state) end
if s.left and s.key == '' then s.key, s.dek = s.left.key or '', s.left.dek or '' end
s.isNamed, s.owner = s.owner ~= nil, s.owner or s.left and s.left.name
s.last = s.next
s.damaged = not sound or s.rounds > s.next or s.start < s.base or s.start > s.next or s.begun and s.epoch == ''
if log then
s.length, s.known = redis.call('LLEN', log), redis.call('HLEN', ids)
s.damaged = s.damaged or s.length ~= s.next - s.base or s.length > 0 and s.known <= s.length
end
return s
end`,
};

export const gateAt18: ScriptPart = {
  file: "includes/gate.lua",
  line: 18,
  text: `\
local function refusesOwner(ask, s)
if not ask.owner then return nil end
if s.owner then return s.owner ~= ask.owner and { 'OWNER' } or nil end
local marks = s.left and s.left.marks
if not marks then return nil end
local own = redis.sha1hex(ask.owner):sub(1, 12)
for _, mark in ipairs(marks) do
if mark ~= own then return { 'OWNER' } end
end
return #marks == 0 and not ask.assigns and { 'DAMAGED' } or nil
end


local function refusesKey(ask, s)
local keys = ask.keys or {}
local isOther = s.key == '' and keys.name and not keys.key
if s.key ~= '' then isOther = keys.name ~= s.key:match('^%S+') end
return isOther and { 'KEY', s.key .. ' ' .. s.dek } or nil
end
local function gate(ask, s, checks, repeated)
checks = checks or 'erased owner damaged key epoch fence'
if s.erased and checks:find('erased', 1, true) then return { 'ERASED' } end
local others = refusesOwner(ask, s)
if others then return others end
if s.damaged and checks:find('damaged', 1, true) then return { 'DAMAGED' } end
local asStored = ask.keys and ask.keys.asStored
local isClosed = checks:find('key', 1, true) or checks:find('read', 1, true) and not asStored
local other = isClosed and refusesKey(ask, s)
if other then return other end
local reply = repeated and repeated()
if reply then return reply end
local expected, token = ask.expectedEpoch, ask.fencingToken
if expected and expected ~= s.epoch and checks:find('epoch', 1, true) then return { 'EPOCH' } end
if token and token < s.fence and checks:find('fence', 1, true) then return { 'FENCED' } end
end`,
};

export const checkSessionAt13: ScriptPart = {
  file: "check-session.lua",
  line: 13,
  text: `\
return gate(cjson.decode(ARGV[1]), loadSession(KEYS[1]), 'erased owner') or { 'OPEN' }`,
};

export const endRunAt13: ScriptPart = {
  file: "end-run.lua",
  line: 13,
  text: `\
local run, at, ending, ttl, last = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local id = at .. '-18446744073709551615'
local found = redis.call('XRANGE', run, id, id)[1]
if found then return { 'ENDED', found[2][2] } end
local topAt, there = topOfRun(run)
if topAt ~= at then return { 'GONE' } end
if last ~= '' and there ~= last then return { 'BEHIND', there } end
redis.call('XADD', run, id, 'e', ending, 'l', there)
redis.call('PEXPIRE', run, ttl)
return { 'ENDED', ending }`,
};

export const keepMailboxAt9: ScriptPart = {
  file: "keep-mailbox.lua",
  line: 9,
  text: `\
local isNew = redis.call('EXISTS', KEYS[1]) == 0
if isNew then redis.call('XADD', KEYS[1], '*', 'm', '[]') end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return { isNew and 'NEW' or 'KEPT' }`,
};

export const lookRunAt11: ScriptPart = {
  file: "look-run.lua",
  line: 11,
  text: `\
local last = lastRun(KEYS[1])
return last and last.meta and { 'RUN', last.at, last.meta, last.ending or '' } or { 'NONE' }`,
};

export const queueRunAt11: ScriptPart = {
  file: "queue-run.lua",
  line: 11,
  text: `\
local queue, start, ttl, most, how = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local score = redis.call('ZSCORE', queue, start)
if score == 'inf' or how == 'leave' then
redis.call('ZREM', queue, start)
return { score == 'inf' and 'STOPPED' or 'LEFT' }
end
if not score then
if redis.call('ZCOUNT', queue, '-inf', '(+inf') >= tonumber(most) then return { 'FULL' } end
local edge, step
if how == 'front' then
edge, step = redis.call('ZRANGEBYSCORE', queue, '-inf', '(+inf', 'WITHSCORES', 'LIMIT', 0, 1), -1
else
edge, step = redis.call('ZREVRANGEBYSCORE', queue, '(+inf', '-inf', 'WITHSCORES', 'LIMIT', 0, 1), 1
end
redis.call('ZADD', queue, (tonumber(edge[2]) or 0) + step, start)
end
redis.call('PEXPIRE', queue, ttl)
local first = redis.call('ZRANGEBYSCORE', queue, '-inf', '(+inf', 'LIMIT', 0, 1)[1]
if first == start then return { 'FIRST' } end
return { 'BEHIND', first }`,
};

export const settleSteersAt9: ScriptPart = {
  file: "settle-steers.lua",
  line: 9,
  text: `\
local steers, at = KEYS[1], ARGV[1]
local head = redis.call('LINDEX', steers, 0)
if not head then return { 'SETTLED' } end
if math.abs(tonumber(head)) > tonumber(at) then return { 'LATE' } end
local isStored, rest = {}, {}
for index = 2, #ARGV do isStored[ARGV[index]] = true end
for _, each in ipairs(redis.call('LRANGE', steers, 1, -1)) do
if not isStored[each:match('^%S+')] then rest[#rest + 1] = each end
end
if #rest == 0 then
redis.call('UNLINK', steers)
return { 'SETTLED' }
end
redis.call('LSET', steers, 0, '-' .. at)
redis.call('LTRIM', steers, 0, 0)
redis.call('RPUSH', steers, unpack(rest))
return { 'SETTLED' }`,
};

export const stopWaitingAt9: ScriptPart = {
  file: "stop-waiting.lua",
  line: 9,
  text: `\
local queue, turn, reply = KEYS[1], ARGV[1], { 'STOPPED' }
for _, start in ipairs(redis.call('ZRANGEBYSCORE', queue, '-inf', '(+inf')) do
if turn == '' or start:match('^%S+ %S+ (.*)$') == turn then
redis.call('ZADD', queue, '+inf', start)
reply[#reply + 1] = start
end
end
return reply`,
};

export const takeSteersAt13: ScriptPart = {
  file: "take-steers.lua",
  line: 13,
  text: `\
local steers, at, ttl, how, known = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local head = redis.call('LINDEX', steers, 0)
if head and math.abs(tonumber(head)) > tonumber(at) then return { 'LATE' } end
if not head then
if how == 'close' then return { 'HELD' } end
redis.call('RPUSH', steers, at)
end
local held = redis.call('LRANGE', steers, 1, -1)
local isClosed = how == 'close' and (#held == 0 or held[#held]:match('^%S+') == known)
redis.call('LSET', steers, 0, isClosed and '-' .. at or at)
redis.call('PEXPIRE', steers, ttl)
return { 'HELD', unpack(held) }`,
};

export const addSteerScript = script([
  addSteerAt9,
]);

export const addToRunScript = script([
  topOfRunAt4,
  addToRunAt12,
]);

export const beginRunScript = script([
  nowAt3,
  topOfRunAt4,
  lastRunAt7,
  beginRunAt16,
]);

export const checkSessionScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  checkSessionAt13,
]);

export const endRunScript = script([
  topOfRunAt4,
  endRunAt13,
]);

export const keepMailboxScript = script([
  keepMailboxAt9,
]);

export const lookRunScript = script([
  topOfRunAt4,
  lastRunAt7,
  lookRunAt11,
]);

export const queueRunScript = script([
  queueRunAt11,
]);

export const settleSteersScript = script([
  settleSteersAt9,
]);

export const stopWaitingScript = script([
  stopWaitingAt9,
]);

export const takeSteersScript = script([
  takeSteersAt13,
]);

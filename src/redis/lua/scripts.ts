// Written by `npm run lua` from the .lua files of this folder. Change those.

import { script, type ScriptPart } from "../script.js";

const plainAppendAt17: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 17,
  text: `\
local at, next, begun, addedSum, ttl, most, mostFromStart, used, claims, from
local counter, added, mostTokens, owner, key, epoch, token = '', '', '', '', '', '', ''
local turn, stored, kind, ticket, holdMs, back, label = '', '', '', '', '', '', ''
if ARGV[1]:byte() ~= 123 then
at, next, begun, addedSum, ttl, most, mostFromStart, used, claims, from = struct.unpack('sssssssss', ARGV[1])
end
if at then
local call, log, ids, state = redis.call, KEYS[1], KEYS[2], KEYS[3]
local field
if claims == '' then
field = call('HMGET', state, 'next', 'rounds', 'epoch', 'owner', 'base', 'start', 'headCount', 'tokens', 'fence', 'key', 'erased', 'sum')
else
counter, added, mostTokens, owner, key, epoch, token, turn, stored, kind, ticket, holdMs, back, label, from =
struct.unpack('ssssssssssssss', ARGV[1], from)
field = call('HMGET', state, 'next', 'rounds', 'epoch', 'owner', 'base', 'start', 'headCount', 'tokens', 'fence', 'key', 'erased', 'sum', 'counter', 'holder', 'waiters', 'label')
end
local count, last, shows, length, known, total, found = (#ARGV - 1) / 3, at + 0, false
local rounds, base, start, head, sum = ((field[2] or 0) .. ' ' .. (field[5] or 0) .. ' ' .. (field[6] or 0) .. ' '
.. (field[7] or 0) .. ' ' .. (field[12] or '')):match('^(%d+) (%d+) (%d+) (%d+) (%d+)$')`,
};

const plainClaimsAt7: ScriptPart = {
  file: "includes/plain-claims.lua",
  line: 7,
  text: `\
local expected = field[1] == at and (field[3] or ''):find('^%S+$') and not field[11] and (field[10] or '') == key
and (not field[9] or field[9]:find('^%d+$') and field[9] + 0 <= 2 ^ 53)
and (owner == '' or owner == field[4]) and (epoch == '' or epoch == field[3]) and (token == '' or token == field[9])
and (label == '' or field[16]) and (ticket == '' or not (field[14] or field[15]))
and (back == '' or (field[14] or ''):match('^(%S+) %d+ %d+$') == back)
if field[8] then
total = counter ~= '' and counter == field[13] and field[8]:find('^%d[%d.e+-]*$') and field[8] + added
expected = expected and total and total < math.huge
else
expected = expected and mostTokens == ''
end`,
};

const plainAppendAt37: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 37,
  text: `\
if expected and rounds then
rounds, base, start, head = rounds + 0, base + 0, start + 0, head + 0
shows = most ~= '' and head + next - start > most + 0 or mostFromStart ~= '' and next - start > mostFromStart + 0
or mostTokens ~= '' and total > mostTokens + 0
length, known = call('LLEN', log), call('HLEN', ids)
expected = rounds <= last and base <= start and start <= last and head <= 5e13
and length > 0 and length == last - base and known > length
and (known > 32 or known + count + (stored == '0' and 1 or 0) <= 32)
end`,
};

const plainMarksAt9: ScriptPart = {
  file: "includes/plain-marks.lua",
  line: 9,
  text: `\
local markField, mark
if expected and rounds then
local fields, first = {}, 0
if turn ~= '' then fields[1], fields[2], first = turn, '[turns:' .. string.rep('.', 6) .. ']', 2 end
for i = 1, count do fields[first + i] = ARGV[2 * i] end
found = call('HMGET', ids, unpack(fields))
for i = first + 1, #found do expected = expected and not found[i] end
if turn ~= '' then
local own, text, digits, size, place, ends = found[1], found[2] or '', '', '0', at
while not own and text == '/' and #digits < 6 do
digits = digits .. turn:byte(#digits + 1) % 8
text = call('HGET', ids, '[turns:' .. digits .. string.rep('.', 6 - #digits) .. ']') or ''
end
local begins = not own and text:find(turn .. ':', 1, true)
if own then size, place = own:match('^t(%d%d%d%d%d%d%d)(%d+)$') end
if begins then size, place, ends = text:match('^t(%d+)@(%d+) ()', begins + #turn + 1) end
expected = expected and size and size + 0 == stored + 0
if expected and (own or not begins and known + count <= 32) then
markField, mark = turn, string.format('%s%07d%s', kind, stored + count, place)
elseif expected then
if begins then text = text:sub(1, begins - 1) .. text:sub(ends) end
mark = text .. string.format('%s:%s%d@%s ', turn, kind, stored + count, place)
markField = '[turns:' .. digits .. string.rep('.', 6 - #digits) .. ']'
expected = text ~= '/' and #mark <= 800
end
end
end`,
};

const plainAppendAt47: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 47,
  text: `\
if expected and rounds then`,
};

const plainWritesAt7: ScriptPart = {
  file: "includes/plain-writes.lua",
  line: 7,
  text: `\
local time, set, fence = call('TIME'), {}
local updated = string.format('%s%03d', time[1], time[2] / 1000)
if total then set = { 'tokens', string.format('%.17g', total) } end
if ticket ~= '' then
fence = string.format('%.0f', math.max(time[1] * 1000000 + time[2], (field[9] or 0) + 1))
local holder = string.format('%s %.0f %s', ticket, updated + holdMs, fence)
set[#set + 1], set[#set + 2], set[#set + 3], set[#set + 4] = 'fence', fence, 'holder', holder
end
for _ = 1, count do sum = sum * 33 % 140737488355213 end
call('HSET', state, 'updated', updated, 'next', next, 'rounds', string.format('%.0f', rounds + begun), 'sum',
string.format('%.0f', (sum + addedSum) % 140737488355213), unpack(set))
if back ~= '' then call('HDEL', state, 'holder') end
if mark then
call('HSET', ids, markField, mark, unpack(ARGV, 2, 2 * count + 1))
else
call('HSET', ids, unpack(ARGV, 2, 2 * count + 1))
end
call('RPUSH', log, unpack(ARGV, 2 * count + 2))
if used ~= '' then`,
};

const countUsageAt7: ScriptPart = {
  file: "includes/count-usage.lua",
  line: 7,
  text: `\
local function countUsage(usage, known)
local models, order = {}, {}
local function of(model)
if not models[model] and #order >= 32 then model = 'other' end
if not models[model] then
models[model] = { 0, 0, 0 }
order[#order + 1] = model
end
return models[model]
end
for line in (redis.call('HGET', KEYS[3], 'usage') or ''):gmatch('[^\\n]+') do
local model, input, output, total = line:match('^(.*)\\t(%d+)\\t(%d+)\\t(%d+)$')
local sums = model and of(model)
for i, amount in ipairs(sums and { input, output, total } or {}) do sums[i] = sums[i] + amount end
end
for _, item in ipairs(usage) do
local sums = not known[item[1]] and of(item[2])
for i = 1, sums and 3 or 0 do sums[i] = math.min(sums[i] + item[2 + i], 9007199254740991) end
end
local lines = {}
for i, model in ipairs(order) do lines[i] = string.format('%s\\t%.0f\\t%.0f\\t%.0f', model, unpack(models[model])) end
if #lines > 0 then redis.call('HSET', KEYS[3], 'usage', table.concat(lines, '\\n')) end
end`,
};

const plainWritesAt27: ScriptPart = {
  file: "includes/plain-writes.lua",
  line: 27,
  text: `\
countUsage(cjson.decode(ARGV[1]:sub(from)).usage, {})
end
if ttl ~= '' then
local expiry = string.format('%.0f', updated + ttl)
call('PEXPIREAT', log, expiry)
call('PEXPIREAT', ids, expiry)
call('PEXPIREAT', state, expiry)
end`,
};

const plainAppendAt49: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 49,
  text: `\
local reply = next .. ' ' .. updated .. ' ' .. field[3] .. ' ' .. (field[4] or '')
if shows then`,
};

const numbersAt5: ScriptPart = {
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

const plainAppendAt52: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 52,
  text: `\
`,
};

const viewAt7: ScriptPart = {
  file: "includes/view.lua",
  line: 7,
  text: `\
local function view()
local field = redis.call('HMGET', KEYS[3], 'epoch', 'rev', 'base', 'start', 'next', 'head', 'headCount', 'tokens', 'counter', 'owner', 'erased', 'sum')
local base, start, next = wholeFrom(field[3] or '0'), wholeFrom(field[4] or '0'), wholeFrom(field[5] or nil)
local sound = base and start and next and base <= start and start <= next
sound = sound and wholeFrom(field[7] or '0') and amountFrom(field[8] or '0')
local first = sound and start - base or 0
return { field, redis.call('LRANGE', KEYS[1], first, -1), redis.call('HLEN', KEYS[2]), first }
end`,
};

const plainAppendAt53: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 53,
  text: `\
shows = view()
end
if ticket == '' then return shows and { reply, shows } or reply end
return { reply, shows or '', fence, ttl ~= '' and ttl or call('PTTL', state) }
end
end`,
};

const ownerLeftAt8: ScriptPart = {
  file: "includes/owner-left.lua",
  line: 8,
  text: `\
local function ownerLeft(state)
local stem = state:match('^(.*:)state$')
if not stem then return nil end
local name = redis.pcall('HGET', stem .. 'ids', '[owner]')
if type(name) == 'string' then return { name = name } end
local marks, isLeft = {}, redis.call('EXISTS', stem .. 'ids') == 1
for _, at in ipairs({ 0, -1 }) do
local record = redis.pcall('LINDEX', stem .. 'log', at)
if type(record) == 'string' then
isLeft = true
marks[#marks + 1] = record:match('^[^\\n]*'):match('"owner":"(%x%x%x%x%x%x%x%x%x%x%x%x)"}}$')
end
end
return isLeft and { marks = marks } or nil
end`,
};

const loadSessionAt12: ScriptPart = {
  file: "includes/load-session.lua",
  line: 12,
  text: `\
local function loadSession(state, log, ids, read)
local field = (read or redis.call)('HMGET', state, 'epoch', 'rev', 'base', 'start', 'next', 'headCount', 'tokens',
'counter', 'rounds', 'fence', 'key', 'owner', 'erased', 'label', 'sum')
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
if not s.owner and not s.begun and not s.erased then s.left = ownerLeft(state) end
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

const gateAt17: ScriptPart = {
  file: "includes/gate.lua",
  line: 17,
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


local function lacksKey(ask, s)
local known = ask.keys and ' ' .. table.concat(ask.keys.known, ' ') .. ' ' or ''
for name in s.key:gmatch('%S+') do
if name:byte(1) ~= 42 and not known:find(' ' .. name .. ' ', 1, true) then return true end
end
return false
end
local function gate(ask, s, checks, repeated)
checks = checks or 'erased owner damaged key epoch fence'
if s.erased and checks:find('erased', 1, true) then return { 'ERASED' } end
local others = refusesOwner(ask, s)
if others then return others end
if s.damaged and checks:find('damaged', 1, true) then return { 'DAMAGED' } end
if s.key ~= '' and checks:find('key', 1, true) and lacksKey(ask, s) then return { 'KEY', s.key } end
local reply = repeated and repeated()
if reply then return reply end
local expected, token = ask.expectedEpoch, ask.fencingToken
if expected and expected ~= s.epoch and checks:find('epoch', 1, true) then return { 'EPOCH' } end
if token and token < s.fence and checks:find('fence', 1, true) then return { 'FENCED' } end
end`,
};

const sortOutAt7: ScriptPart = {
  file: "includes/sort-out.lua",
  line: 7,
  text: `\
local function sortOut(s, count)
local hashes, known, duplicates, conflicts = {}, {}, 0, {}
for i = 1, count do hashes[i] = ARGV[2 * i] end
for first = 1, count, 7000 do
local found = redis.call('HMGET', KEYS[2], unpack(hashes, first, math.min(first + 6999, count)))
for offset = 1, #found do
local stored, i = s.begun and found[offset], first + offset - 1
local position = stored and stored:match('^%-?%d+$', 8 + 1)
if stored and not (position and tonumber(position) < s.last) then return nil end
if stored and tonumber(position) < s.next then
known[i] = true
local digest = stored:sub(1, 8)
if digest == ARGV[2 * i + 1]:sub(1, 8) or digest == '--------' then
duplicates = duplicates + 1
else
conflicts[#conflicts + 1] = i - 1
end
end
end
end
return known, duplicates, conflicts
end`,
};

const compareKeysAt6: ScriptPart = {
  file: "includes/compare-keys.lua",
  line: 6,
  text: `\
local function compareKeys(request, s, conflicts)
if #conflicts == 0 or not (request.keys and request.keys.compare) then return end
local records, digests = {}, {}
for i, index in ipairs(conflicts) do
local stored = redis.call('HGET', KEYS[2], ARGV[2 * index + 2])
local place = stored:sub(8 + 1) - s.base
records[i], digests[i] = place >= 0 and redis.call('LINDEX', KEYS[1], place) or '', stored:sub(1, 8)
end
return { 'DIFFERS', s.next, s.epoch, conflicts, records, digests }
end`,
};

const sharedMarksAt8: ScriptPart = {
  file: "includes/shared-marks.lua",
  line: 8,
  text: `\
local function sharedField(digits)
return '[turns:' .. digits .. string.rep('.', 6 - #digits) .. ']'
end
local function sharedMark(name)
local digits = ''
while true do
local text = redis.call('HGET', KEYS[2], sharedField(digits)) or ''
if text ~= '/' or #digits == 6 then return digits, text, text:find(name .. ':', 1, true) end
digits = digits .. name:byte(#digits + 1) % 8
end
end`,
};

const readMarkAt6: ScriptPart = {
  file: "includes/read-mark.lua",
  line: 6,
  text: `\
local function readMark(name)
local own, kind, count, first = redis.call('HGET', KEYS[2], name)
if own then
kind, count, first = own:match('^([Tt])(%d%d%d%d%d%d%d)(%d+)$')
else
local _, text, from, to = sharedMark(name)
if not from then return nil end
kind, count, first = text:match('^([Tt])(%d+)@(%d+) ', to + 1)
end
count, first = wholeFrom(count, 9999999), wholeFrom(first)
return { kind = kind, count = count, first = first, unreadable = not (count and first) }
end
local function markText(mark)
return mark and not mark.unreadable and string.format('%s%07d%.0f', mark.kind, mark.count, mark.first) or ''
end`,
};

const storedTurnAt6: ScriptPart = {
  file: "includes/stored-turn.lua",
  line: 6,
  text: `\
local function storedTurn(s, turn)
local mark = s.begun and readMark(turn.name) or nil
if mark and mark.unreadable then return { 'DAMAGED' } end
local first, done, count = mark and mark.first or s.next, mark and mark.kind == 'T', mark and mark.count or 0
if not done and count == turn.stored then return nil, mark end
local from, to = math.max(first, s.base) - s.base, first + count - 1 - s.base
local records = to >= from and redis.call('LRANGE', KEYS[1], from, to) or {}
return { 'TURN', done and 1 or 0, count, first, s.next, s.epoch, records }
end`,
};

const exceedsAt4: ScriptPart = {
  file: "includes/exceeds.lua",
  line: 4,
  text: `\
local function exceeds(request, s, next, total, counter)
if request.maxMessages and s.headCount + next - s.start > request.maxMessages then return true end
if request.maxFromStart and next - s.start > request.maxFromStart then return true end
return request.maxTokens and (not total or counter ~= request.counter or total > request.maxTokens) or false
end`,
};

const repeatedAppendAt16: ScriptPart = {
  file: "includes/repeated-append.lua",
  line: 16,
  text: `\
local function isSame(request, s, reply)
if reply[2] == 1 or request.count == 0 or reply[3] ~= request.turn.stored + request.count then return false end
local _, duplicates = sortOut(s, request.count)
return duplicates == request.count
end
local function repeatedTurn(request, s, reply)
if #reply > 1 and isSame(request, s, reply) then reply[2] = 2 end
if exceeds(request, s, s.next, s.tokens, s.counter) then reply[8] = view() end
return reply
end
local function repeatedAppend(request, s)
local cut, reply, mark = request.cut
if cut and s.rev == cut.newRev then return { 'OK', request.count, 0, {}, s.next, s.epoch } end
if request.turn then reply, mark = storedTurn(s, request.turn) end
if reply then return repeatedTurn(request, s, reply) end
local atEnd = not cut or s.next == cut.next
s.next = cut and cut.to or s.next
local known, duplicates, conflicts = sortOut(s, request.count)
if not known then return { 'DAMAGED' } end
local fresh = request.count - duplicates - #conflicts
local differing = compareKeys(request, s, conflicts)
if differing then return differing end
local repeats = request.count > 0 and fresh == 0 and (#conflicts == 0 or request.keep)
if repeats and request.expectedEpoch == '' then request.expectedEpoch = s.epoch end
return nil, mark, known, duplicates, fresh, conflicts, repeats, atEnd
end`,
};

const asReadAt6: ScriptPart = {
  file: "includes/as-read.lua",
  line: 6,
  text: `\
local function isAsRead(s, request)
if s.epoch == '' or s.epoch ~= request.epoch or s.rev ~= request.rev then return false end
if not request.last then return true end
local stored = redis.call('HGET', KEYS[2], request.last) or ''
return stored:sub(8 + 1) == string.format('%.0f', request.next - 1)
end`,
};

const beginsRoundAt3: ScriptPart = {
  file: "includes/begins-round.lua",
  line: 3,
  text: `\
local function beginsRound(record)
return record:byte(10) == 104 and record:sub(1, 15) == '{"type":"human"'
end`,
};

const nowAt3: ScriptPart = {
  file: "includes/now.lua",
  line: 3,
  text: `\
local function now()
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
end`,
};

const inChunksAt3: ScriptPart = {
  file: "includes/in-chunks.lua",
  line: 3,
  text: `\
local function inChunks(command, key, values, from, to)
local last = to or #values
for first = from or 1, last, 7000 do
redis.call(command, key, unpack(values, first, math.min(first + 6999, last)))
end
end`,
};

const forgetAt8: ScriptPart = {
  file: "includes/forget.lua",
  line: 8,
  text: `\
local function forget(hashes, from, to)
local count, length = 0, 14
for first = 1, #hashes, 5000 * length do
local fields, gone = {}, {}
for at = first, math.min(first + 5000 * length, #hashes + 1) - length, length do
fields[#fields + 1] = hashes:sub(at, at + length - 1)
end
for i, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(fields))) do
local position = stored and tonumber(stored:sub(8 + 1))
if position and position >= from and position < to then
gone[#gone + 1] = fields[i]
end
end
inChunks('HDEL', KEYS[2], gone)
count = count + #gone
end
return count
end`,
};

const logSumAt11: ScriptPart = {
  file: "includes/log-sum.lua",
  line: 11,
  text: `\
local function extendSum(sum, count, added)
if not sum then return nil end
for _ = 1, count do sum = sum * 33 % 140737488355213 end
return (sum + added) % 140737488355213
end
local function newSum(sum, token)
return sum and tonumber(redis.sha1hex(string.format('%.0f ', sum) .. token):sub(1, 11), 16)
end
local function sumText(sum) return string.format('%.0f', sum) end`,
};

const writeMarkAt8: ScriptPart = {
  file: "includes/write-mark.lua",
  line: 8,
  text: `\
local function putShared(digits, entries)
local text, parts = table.concat(entries), {}
if #text <= 800 or #digits == 6 then
return redis.call('HSET', KEYS[2], sharedField(digits), text)
end
for _, entry in ipairs(entries) do
local digit = entry:byte(#digits + 1) % 8
parts[digit] = parts[digit] or {}
table.insert(parts[digit], entry)
end
redis.call('HSET', KEYS[2], sharedField(digits), '/')
for digit, part in pairs(parts) do putShared(digits .. digit, part) end
end
local function sharedEntry(name, kind, count, first)
return string.format('%s:%s%d@%.0f ', name, kind, count, first)
end
local function writeMark(name, kind, count, first)
local ids = KEYS[2]
local digits, text, from = sharedMark(name)
local isOwn = redis.call('HEXISTS', ids, name) == 1 or kind and not from and redis.call('HLEN', ids) <= 32
if isOwn and kind then
redis.call('HSET', ids, name, string.format('%s%07d%.0f', kind, count, first))
elseif isOwn then
redis.call('HDEL', ids, name)
end
if isOwn and not from or not from and not kind then return end
local to = from and text:find(' ', from, true) or #text
if from then text = text:sub(1, from - 1) .. text:sub(to + 1) end
if kind and not isOwn then text = text .. sharedEntry(name, kind, count, first) end
if text == '' then return redis.call('HDEL', ids, sharedField(digits)) end
local entries = { text }
if #text > 800 then
entries = {}
for entry in text:gmatch('%S+ ') do entries[#entries + 1] = entry end
end
putShared(digits, entries)
end
local function dropMarksFrom(to)
for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
if field:sub(1, 7) == '[turns:' then
for name, first in redis.call('HGET', KEYS[2], field):gmatch('(%S+):[Tt]%d+@(%d+) ') do
if tonumber(first) >= to then writeMark(name) end
end
end
end
end`,
};

const truncateAt17: ScriptPart = {
  file: "includes/truncate.lua",
  line: 17,
  text: `\
local function truncate(s, to, token, hashes, marks, from)
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local kept = to - s.base
for first = kept, s.length - 1, 64 do
for _, record in ipairs(redis.call('LRANGE', log, first, first + 63)) do
s.rounds = s.rounds - (beginsRound(record) and 1 or 0)
end
end
if kept == 0 then redis.call('UNLINK', log) else redis.call('LTRIM', log, 0, kept - 1) end
redis.call('HSET', state, 'next', to, 'rounds', s.rounds, 'updated', now())
redis.call('HDEL', state, 'tokens', 'counter')
if to < s.start or to == s.start and s.headCount == 0 then
redis.call('HDEL', state, 'head', 'headCount')
redis.call('HSET', state, 'start', s.base)
s.start, s.headCount = s.base, 0
end
if forget(hashes, to, math.huge) < s.length - kept then
forget(table.concat(redis.call('HKEYS', ids)), to, math.huge)
dropMarksFrom(to)
end
for i = from, #marks, 2 do
local name, mark = marks[i], marks[i + 1]
local kind, count, first = mark:match('^([Tt])(%d%d%d%d%d%d%d)(%d+)$')
if mark:sub(1, 1) == '-' then
local stored = readMark(name)
count, first = (stored and stored.count or 0) + mark, stored and stored.first or 0
kind = count > 0 and 't' or nil
end
writeMark(name, kind, count, first)
end
s.length, s.next, s.tokens, s.sum = kept, to, nil, newSum(s.sum, token)
if s.sum then redis.call('HSET', state, 'sum', sumText(s.sum)) end
end`,
};

const nameOwnerAt5: ScriptPart = {
  file: "includes/name-owner.lua",
  line: 5,
  text: `\
local function nameOwner(s)
if s.owner and s.length > 0 then redis.call('HSET', KEYS[2], '[owner]', s.owner) end
end`,
};

const claimAt6: ScriptPart = {
  file: "includes/claim.lua",
  line: 6,
  text: `\
local function claim(request, s, set)
s.owner = s.owner or request.owner
if s.owner and not s.isNamed then
set('owner', s.owner)
nameOwner(s)
end
if request.label and not s.label then
set('label', request.labelVersion)
for name, text in pairs(request.label) do set(name, text) end
end
end`,
};

const logFieldsAt6: ScriptPart = {
  file: "includes/log-fields.lua",
  line: 6,
  text: `\
local function logFields(s, request, fresh, entries)
if fresh == 0 then return {} end
local fields = { 'next', s.next + fresh, 'rounds', s.rounds }
local sum = fresh == request.count and extendSum(s.sum, fresh, request.sum)
or newSum(s.sum, request.epoch .. table.concat(entries))
if sum then
fields[5] = 'sum'
fields[6] = sumText(sum)
end
return fields
end`,
};

const noteKeyAt4: ScriptPart = {
  file: "includes/note-key.lua",
  line: 4,
  text: `\
local function noteKey(request, stored, set)
local current = request.keys and request.keys.current
if not current or stored and stored:match('%S+') == current then return end
local names = current
for name in (stored or ''):gmatch('%S+') do
if name ~= current and name:byte(1) ~= 42 then names = names .. ' ' .. name end
end
set('key', names)
end`,
};

const changeSideAt6: ScriptPart = {
  file: "includes/change-side.lua",
  line: 6,
  text: `\
local function byBytes(a, b)
for i = 1, math.min(#a, #b) do
if a:byte(i) ~= b:byte(i) then
return a:byte(i) < b:byte(i)
end
end
return #a < #b
end
local function changeSide(state, from, to, bound)
inChunks('HDEL', state, ARGV, from, to)
if bound then
local found, prefix, surplus = {}, 'side:' .. bound.prefix, {}
for _, name in ipairs(redis.call('HKEYS', state)) do
if name:sub(1, #prefix) == prefix then
found[#found + 1] = name
end
end
table.sort(found, byBytes)
for i = 1, #found - bound.keep do
surplus[i] = found[i]
end
inChunks('HDEL', state, surplus)
end
end`,
};

const explainIdsAt8: ScriptPart = {
  file: "includes/explain-ids.lua",
  line: 8,
  text: `\
local function explainIds(known, added, anew)
local isLong = known + added > 32
if not anew and (known > 32 or not isLong) then return end
redis.call('HSET', KEYS[2], '[how to read:]', not isLong and 'id: digest, position'
or 'SHA-256 of a message id in base64url = that of the content, then the position in the log')
end`,
};

const markTurnAt5: ScriptPart = {
  file: "includes/mark-turn.lua",
  line: 5,
  text: `\
local function markTurn(turn, mark, count, first)
writeMark(turn.name, turn.done and 'T' or 't', (mark and mark.count or 0) + count, mark and mark.first or first)
end`,
};

const expireAllAt4: ScriptPart = {
  file: "includes/expire-all.lua",
  line: 4,
  text: `\
local function expireAll(at)
local text = string.format('%.0f', at)
for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, text) end
end`,
};

const holderAt4: ScriptPart = {
  file: "includes/holder.lua",
  line: 4,
  text: `\
local function holderOf(field)
return (field or ''):match('^(%S+) (%d+) (%d+)$')
end`,
};

const seekHoldAt7: ScriptPart = {
  file: "includes/seek-hold.lua",
  line: 7,
  text: `\
local function seekHold(state, wish, fence)
local clock, field = redis.call('TIME'), redis.call('HMGET', state, 'holder', 'waiters')
local time = clock[1] * 1000 + math.floor(clock[2] / 1000)
local holder, ends, own = holderOf(field[1])
local ticket, ending = wish.ticket, string.format(' %.0f ', time + wish.holdMs)
if holder == ticket then return { fence = own, holder = ticket .. ending .. own } end
local waiters, ahead, mine = {}, nil, string.format('%s %.0f', ticket, time)
for other, seen in (field[2] or ''):gmatch('(%S+) (%d+)') do
if other == ticket then
ahead = #waiters
waiters[#waiters + 1] = mine
elseif time - seen <= wish.graceMs then
waiters[#waiters + 1] = other .. ' ' .. seen
end
end
if not ahead then
ahead = #waiters
waiters[#waiters + 1] = mine
end
if ahead > 0 or holder and tonumber(ends) >= time then
redis.call('HSET', state, 'waiters', table.concat(waiters, ' '))
return ahead
end
table.remove(waiters, 1)
local new = string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], fence + 1))
return { fence = new, holder = ticket .. ending .. new, waiters = field[2] and table.concat(waiters, ' ') }
end
local function keepHold(state, hold)
redis.call('HSET', state, 'fence', hold.fence, 'holder', hold.holder)
if hold.waiters == '' then
redis.call('HDEL', state, 'waiters')
elseif hold.waiters then
redis.call('HSET', state, 'waiters', hold.waiters)
end
end`,
};

const appendHoldAt8: ScriptPart = {
  file: "includes/append-hold.lua",
  line: 8,
  text: `\
local function heldReply(hold, s, reply)
return hold and { 'TOOK', hold.fence, s.epoch, redis.call('PTTL', KEYS[3]), reply } or reply
end
local function holdFor(request, s, refusal)
local isOpen = refusal and refusal[1] == 'TURN' and refusal[2] ~= 1
if not request.take or refusal and not isOpen then return refusal end
local hold = seekHold(KEYS[3], request.take, s.fence)
if type(hold) == 'number' then return { 'WAITS', hold, s.next, s.epoch } end
if not refusal then return nil, hold end
keepHold(KEYS[3], hold)
return heldReply(hold, s, refusal)
end
local function changeHold(hold, ticket)
if hold then keepHold(KEYS[3], hold) end
if ticket and holderOf(redis.call('HGET', KEYS[3], 'holder')) == ticket then redis.call('HDEL', KEYS[3], 'holder') end
end`,
};

const appendAt47: ScriptPart = {
  file: "append.lua",
  line: 47,
  text: `\
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
if cut and not (atEnd and isAsRead(s, cut)) then return { 'STALE' } end
if cut and cut.to < s.base then return { 'RANGE' } end
if #conflicts > 0 and not request.keep then return { 'CONFLICT', conflicts[1] } end
if s.epoch == '' and fresh == 0 and request.sets == 0 then return { 'OK', 0, duplicates, conflicts, 0, '' } end
if cut then truncate(s, cut.to, cut.newRev, cut.hashes, cut.marks, 1) end
if cut and turn then mark = readMark(turn.name) end
local total, counter = s.tokens, s.counter
if fresh > 0 then
total = s.begun and s.counter == request.counter and s.tokens or (not s.begun and 0 or nil)
total, counter = request.tokens and total, request.counter
end
local asPlanned, entries, added = fresh == count and request.at == s.next, {}, {}
if asPlanned then
s.rounds, total = s.rounds + request.rounds, total and total + (request.total or 0)
end
for i = asPlanned and count + 1 or 1, count do
if not known[i] then
added[#added + 1] = ARGV[firstRecord + i]
entries[2 * #added - 1] = ARGV[2 * i]
entries[2 * #added] = ARGV[2 * i + 1]:sub(1, 8) .. s.next + #added - 1
s.rounds = s.rounds + (beginsRound(ARGV[firstRecord + i]) and 1 or 0)
total = total and total + request.tokens[i]
end
end
local time, nextPosition = now(), s.next + fresh
local fields = { 'updated', time, unpack(logFields(s, request, fresh, entries)) }
local function set(name, value) fields[#fields + 1] = name; fields[#fields + 1] = value end
if s.epoch == '' then s.epoch = request.epoch; set('epoch', s.epoch); set('rev', s.epoch); set('created', time) end
claim(request, s, set)
if cut then set('rev', cut.newRev); set('cut', cut.newRev) end
if request.fencingToken then set('fence', request.fencingToken) end
if fresh > 0 or request.sets > 0 then noteKey(request, s.key, set) end
if total then set('tokens', string.format('%.17g', total)); set('counter', counter) end
local firstSide = 2 * (count + 1)
for i = firstSide, firstSide + 2 * request.sets - 1 do fields[#fields + 1] = ARGV[i] end
inChunks('HSET', state, fields)
changeHold(hold, request.giveBack)
if not s.begun and s.known > 0 and fresh > 0 then redis.call('UNLINK', ids) end
if not total and s.tokens then redis.call('HDEL', state, 'tokens', 'counter') end
changeSide(state, firstSide + 2 * request.sets, firstRecord, request.bound)
if fresh > 0 then explainIds(s.begun and s.known or 0, fresh + (turn and not mark and 1 or 0), s.length == 0) end
if fresh > 0 and s.length == 0 and s.owner then redis.call('HSET', ids, '[owner]', s.owner) end
if asPlanned then inChunks('HSET', ids, ARGV, 2, firstSide - 1) else inChunks('HSET', ids, entries) end
if asPlanned then inChunks('RPUSH', log, ARGV, firstRecord + 1) else inChunks('RPUSH', log, added) end
if turn and (mark or fresh > 0) then markTurn(turn, mark, fresh, s.next) end
if request.usage then countUsage(request.usage, known) end
local left = request.ttl or (s.length == 0 and fresh > 0 and redis.call('PTTL', state) or -1)
if left >= 0 then expireAll(time + left) end
local shown = exceeds(request, s, nextPosition, total, counter) and view() or ''
return heldReply(hold, s, { 'OK', fresh, duplicates, conflicts, nextPosition, s.epoch, shown, time, s.owner or '' })`,
};

const beginSwapsAt12: ScriptPart = {
  file: "begin-swaps.lua",
  line: 12,
  text: `\
local state, request, s = KEYS[3], cjson.decode(ARGV[1]), loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(request, s, 'damaged key')
if refusal then return refusal end
if s.epoch == '' then return { 'NONE' } end
local names = request.keys.current
for name in s.key:gmatch('%S+') do
if name ~= request.keys.current and name:byte(1) ~= 42 then names = names .. ' ' .. name end
end
names = names .. ' *' .. ARGV[2]
redis.call('HSET', state, 'key', names)
local fields = {}
for _, name in ipairs(redis.call('HKEYS', state)) do
if name == 'head' or name:sub(1, 5) == 'side:' then
fields[#fields + 1] = name
fields[#fields + 1] = redis.call('HGET', state, name)
end
end
return { 'BEGUN', s.epoch, names, fields }`,
};

const clearSessionAt12: ScriptPart = {
  file: "clear-session.lua",
  line: 12,
  text: `\
local s = loadSession(KEYS[3], nil, nil, redis.pcall)
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
if s.epoch ~= ARGV[2] then return { 'CLEARED', s.owner or '' } end
redis.call('UNLINK', KEYS[1], KEYS[2])
if not s.erased then redis.call('UNLINK', KEYS[3]) end
return { 'CLEARED', s.owner or '' }`,
};

const rememberReductionAt6: ScriptPart = {
  file: "includes/remember-reduction.lua",
  line: 6,
  text: `\
local function rememberReduction(time, s, request, total)
local function size(messages, tokens)
local count = tokens and string.format(',"tokens":%.17g', tokens) or ''
return string.format('{"messages":%.0f', messages) .. count .. '}'
end
local numbers = string.format('{"at":%.0f,"start":%.0f,"head":%.0f', time, request.start, request.headCount)
local before = size(s.headCount + s.next - s.start, s.tokens)
local after = size(request.headCount + s.next - request.start, total)
local lines = redis.call('HGET', KEYS[3], 'reductions') or ''
local count = tonumber(redis.call('HGET', KEYS[3], 'reduced') or 0)
if count >= 100 then lines = lines:sub((lines:find('\\n', 1, true) or 0) + 1) end
if lines ~= '' then lines = lines .. '\\n' end
lines = lines .. numbers .. ',"before":' .. before .. ',"after":' .. after .. '}'
redis.call('HSET', KEYS[3], 'reductions', lines, 'reduced', count + 1)
end`,
};

const readDiscardedAt7: ScriptPart = {
  file: "includes/read-discarded.lua",
  line: 7,
  text: `\
local function readDiscarded()
local first, last, count = (redis.call('HGET', KEYS[3], 'discarded') or ''):match('^(%d+) (%d+) (%d+)$')
return tonumber(first or 1), tonumber(last or 0), tonumber(count or 0)
end
local function newEntries(hashes, to)
local length, second, entries = 14, string.format('%010d', math.floor(now() / 1000)), {}
for first = 1, #hashes, 5000 * length do
local fields = {}
for at = first, math.min(first + 5000 * length, #hashes + 1) - length, length do
fields[#fields + 1] = hashes:sub(at, at + length - 1)
end
for i, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(fields))) do
local position = stored and tonumber(stored:sub(8 + 1))
if position and position < to then
entries[#entries + 1] = fields[i] .. stored:sub(1, 8) .. second
end
end
end
return entries
end`,
};

const writeDiscardedAt6: ScriptPart = {
  file: "includes/write-discarded.lua",
  line: 6,
  text: `\
local function writeEntries(first, last, entries, from)
local chunk = last >= first and redis.call('HGET', KEYS[3], 'discarded:' .. last) or nil
if not chunk or #chunk >= 4096 then last, chunk = last + 1, '' end
while from <= #entries do
local room = math.floor((4096 - #chunk) / 32)
local to = math.min(#entries, from + room - 1)
redis.call('HSET', KEYS[3], 'discarded:' .. last, chunk .. table.concat(entries, '', from, to))
from, chunk, last = to + 1, '', to < #entries and last + 1 or last
end
return last
end`,
};

const discardIdsAt13: ScriptPart = {
  file: "includes/discard-ids.lua",
  line: 13,
  text: `\
local function dropOldest(first, last, surplus, bound)
local gone, oldest = {}, math.floor(now() / 1000) - bound.seconds
while first <= last do
local name, at = 'discarded:' .. first, 1
local chunk = redis.call('HGET', KEYS[3], name)
if not chunk then return last + 1, gone end
while at <= #chunk and (#gone < surplus or
(tonumber(chunk:sub(at + (32 - 10), at + (32 - 1))) or 0) < oldest) do
gone[#gone + 1] = chunk:sub(at, at + (14 - 1))
at = at + 32
end
if at <= #chunk then
if at > 1 then redis.call('HSET', KEYS[3], name, chunk:sub(at)) end
return first, gone
end
redis.call('HDEL', KEYS[3], name)
first = first + 1
end
return first, gone
end
local function discardIds(hashes, to, bound)
if not bound then return forget(hashes, 0, to) end
local first, last, count = readDiscarded()
local entries = newEntries(hashes, to)
local start, gone = dropOldest(first, last, count + #entries - bound.count, bound)
local left = start > last and 0 or count - #gone
local skipped = math.min(#entries, math.max(0, left + #entries - bound.count))
for i = 1, skipped do gone[#gone + 1] = entries[i]:sub(1, 14) end
forget(table.concat(gone), -1, to)
if #entries > skipped then last = writeEntries(start, math.max(last, start - 1), entries, skipped + 1) end
local known = left + #entries - skipped
if known == 0 then return redis.call('HDEL', KEYS[3], 'discarded') end
redis.call('HSET', KEYS[3], 'discarded', start .. ' ' .. last .. ' ' .. known)
end`,
};

const rememberTurnsAt8: ScriptPart = {
  file: "includes/remember-turns.lua",
  line: 8,
  text: `\
local function rememberTurns(names)
if #names == 0 then return end
local all, length = (redis.call('HGET', KEYS[3], 'turns') or '') .. names, 14
local surplus = math.max(0, #all - length * 1000)
for at = 1, surplus, length do writeMark(all:sub(at, at + length - 1)) end
redis.call('HSET', KEYS[3], 'turns', all:sub(surplus + 1))
end`,
};

const commitReductionAt21: ScriptPart = {
  file: "commit-reduction.lua",
  line: 21,
  text: `\
local log, state = KEYS[1], KEYS[3]
local request, s = cjson.decode(ARGV[1]), loadSession(state, log, KEYS[2])
local function repeated() return s.rev == request.newRev and { 'COMMITTED', s.owner or '' } end
local refusal = gate(request, s, nil, repeated)
if refusal then return refusal end
if s.next < request.next or not isAsRead(s, request) then return { 'STALE' } end
if request.start < s.base then return { 'RANGE' } end
local total = request.counter and request.tokens
if total and s.next ~= request.next then
local known = s.tokens and s.counter == request.counter and request.tokensRead
total = known and total + (s.tokens - request.tokensRead)
end
local time = now()
rememberReduction(time, s, request, total)
redis.call('HSET', state, 'start', request.start, 'next', s.next, 'rev', request.newRev)
redis.call('HSET', state, 'head', ARGV[2], 'headCount', request.headCount, 'updated', time)
noteKey(request, s.key, function(name, value) redis.call('HSET', state, name, value) end)
if total then
redis.call('HSET', state, 'tokens', string.format('%.17g', total), 'counter', request.counter)
else
redis.call('HDEL', state, 'tokens', 'counter')
end
if request.discard then
redis.call('LTRIM', log, request.start - s.base, -1)
redis.call('HSET', state, 'base', request.start)
discardIds(ARGV[3], request.start, request.remember)
rememberTurns(ARGV[4])
end
return { 'COMMITTED', s.owner or '' }`,
};

const listTimeAt3: ScriptPart = {
  file: "includes/list-time.lua",
  line: 3,
  text: `\
local function micros()
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]
end
local function whole(number) return string.format('%.0f', number) end`,
};

const countEntriesAt12: ScriptPart = {
  file: "count-entries.lua",
  line: 12,
  text: `\
local now = '(' .. whole(math.floor(micros() / 1000))
local mark = tonumber(redis.call('ZSCORE', KEYS[1], '!') or '')
local expired = redis.call('ZCOUNT', KEYS[1], 1, now) - (mark and mark < tonumber(now:sub(2)) and 1 or 0)
return redis.call('ZCOUNT', KEYS[1], '100000000000000', '+inf') - expired`,
};

const describeSessionAt13: ScriptPart = {
  file: "describe-session.lua",
  line: 13,
  text: `\
local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[1])
local refusal = gate(request, s, 'owner')
if refusal then return refusal end
if s.epoch == '' then return { request.owner and s.left and 'DAMAGED' or 'NONE' } end
local field = redis.call('HMGET', KEYS[1], 'epoch', 'owner', 'label', 'created', 'updated', 'base', 'next', 'rounds', 'tokens', 'usage', 'title', 'listed')
local metadata = (request.full or not field[12]) and redis.call('HGET', KEYS[1], 'metadata')
local time = redis.call('TIME')
local micros = string.format('%.0f', time[1] * 1000000 + time[2])
return { 'OK', micros, redis.call('PTTL', KEYS[1]), field, metadata }`,
};

const stampOfAt4: ScriptPart = {
  file: "includes/stamp-of.lua",
  line: 4,
  text: `\
local function stampOf(value) return (value or ''):match('^%??%d*') end`,
};

const expireListsAt6: ScriptPart = {
  file: "includes/expire-lists.lua",
  line: 6,
  text: `\
local function expireIndex()
local listed = redis.call('ZCOUNT', KEYS[1], '100000000000000', '+inf')
local mortal = redis.call('ZCOUNT', KEYS[1], 1, '(' .. '100000000000000') - (redis.call('ZSCORE', KEYS[1], '!') and 1 or 0)
local last = redis.call('ZREVRANGEBYSCORE', KEYS[1], '(' .. '100000000000000', 1, 'WITHSCORES', 'LIMIT', 0, 1)[2]
for _, key in ipairs(KEYS) do
if listed > mortal then redis.call('PERSIST', key) elseif last then redis.call('PEXPIREAT', key, last) end
end
end`,
};

const dropEntriesAt14: ScriptPart = {
  file: "drop-entries.lua",
  line: 14,
  text: `\
local now, count = micros(), 0
for i = 2, #ARGV, 2 do
local stamp = stampOf(redis.call('HGET', KEYS[2], ARGV[i]))
local announced = tonumber(stamp:match('^%?(%d+)') or '')
local fresh = announced and now - announced < ARGV[1] * 1000
if stamp == ARGV[i + 1] and not fresh and redis.call('ZSCORE', KEYS[1], ARGV[i]) then
redis.call('ZREM', KEYS[1], ARGV[i], '!' .. ARGV[i])
redis.call('HDEL', KEYS[2], ARGV[i])
count = count + 1
end
end
expireIndex()
return count`,
};

const eraseSessionAt18: ScriptPart = {
  file: "erase-session.lua",
  line: 18,
  text: `\
local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[3], nil, nil, redis.pcall)
local refusal = gate(request, s, 'owner')
if refusal then return refusal end
local existed = s.epoch ~= '' or s.left ~= nil
if request.strict and existed and not s.owner and not s.left then return { 'KEPT' } end
local left = s.erased and redis.call('PTTL', KEYS[3]) or 0
local isAgain = s.erased and s.erased:sub(-#request.call) == request.call
local call = (existed or isAgain) and ' ' .. request.call or ''
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[3], 'next', 1, 'erased', now() .. call)
expireAll(now() + math.max(left, request.guardMs))
return { 'GONE', s.owner or '', (existed or isAgain) and '1' or '0' }`,
};

const extendExpiryAt14: ScriptPart = {
  file: "extend-expiry.lua",
  line: 14,
  text: `\
local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(request, s, 'owner')
if refusal then return refusal end
if s.epoch == '' or redis.call('PTTL', KEYS[3]) < 0 then return { 'UNCHANGED' } end
expireAll(now() + request.ttl)
return { 'EXTENDED', s.owner or '' }`,
};

const adoptDiscardedAt8: ScriptPart = {
  file: "includes/adopt-discarded.lua",
  line: 8,
  text: `\
local function adoptDiscarded(packed)
local entries = {}
for at = 1, #packed, 32 do
local digest = packed:sub(at + 14, at + (14 + 8 - 1))
if redis.call('HSETNX', KEYS[2], packed:sub(at, at + (14 - 1)), digest .. '-1') == 1 then
entries[#entries + 1] = packed:sub(at, at + (32 - 1))
end
end
if #entries == 0 then return end
redis.call('HSET', KEYS[3], 'discarded', '1 ' .. writeEntries(1, 0, entries, 1) .. ' ' .. #entries)
end`,
};

const keepAllAt3: ScriptPart = {
  file: "includes/keep-all.lua",
  line: 3,
  text: `\
local function keepAll()
for _, key in ipairs(KEYS) do redis.call('PERSIST', key) end
end`,
};

const finishCopyAt26: ScriptPart = {
  file: "finish-copy.lua",
  line: 26,
  text: `\
local log, ids, state, request = KEYS[1], KEYS[2], KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state, nil, nil, redis.pcall)
local refusal = gate({}, s, 'erased', function() return s.epoch == request.epoch and { 'FORKED' } end)
if refusal then return refusal end
if redis.call('EXISTS', log, ids, state) > 0 then return { 'EXISTS' } end
local staged, hasRecords = redis.call('HMGET', KEYS[6], 'next', 'rounds', 'sum'), request.next > request.base
if hasRecords and tonumber(staged[1] or -1) ~= request.next then return { 'LOST' } end
local time = now()
local fields = { 'epoch', request.epoch, 'rev', request.epoch, 'created', time, 'updated', time }
local hasLog = request.next > 0
if hasLog then
local rounds, sum = unpack(hasRecords and { staged[2], staged[3] } or { 0, 0 })
for _, value in ipairs({ 'base', request.base, 'next', request.next, 'rounds', rounds, 'sum', sum }) do
fields[#fields + 1] = value
end
end
local owner
for i = 3, #ARGV do
fields[#fields + 1] = ARGV[i]
if i % 2 == 1 and ARGV[i] == 'owner' then owner = ARGV[i + 1] end
end
inChunks('HSET', state, fields)
if hasRecords then
redis.call('RENAME', KEYS[4], log)
redis.call('RENAME', KEYS[5], ids)
redis.call('UNLINK', KEYS[6])
end
if owner and hasRecords then redis.call('HSET', ids, '[owner]', owner) end
if hasLog then
explainIds(redis.call('HLEN', ids), #request.known / 2 + #ARGV[2] / 32, not hasRecords)
for i = 1, #request.known, 2 do redis.call('HSETNX', ids, request.known[i], request.known[i + 1]) end
adoptDiscarded(ARGV[2])
for _, mark in ipairs(request.turns) do
if not readMark(mark[1]) then writeMark(mark[1], mark[2] and 'T' or 't', mark[3], mark[4]) end
end
end
keepAll()
if request.ttl then expireAll(time + request.ttl) end
if request.expiresAt then expireAll(request.expiresAt) end
return { 'FORKED' }`,
};

const finishSwapsAt11: ScriptPart = {
  file: "finish-swaps.lua",
  line: 11,
  text: `\
local s = loadSession(KEYS[1])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
if s.epoch ~= ARGV[2] or s.key ~= ARGV[3] then return { 'CHANGED' } end
redis.call('HSET', KEYS[1], 'key', ARGV[4])
return { 'FINISHED' }`,
};

const giveBackHoldAt14: ScriptPart = {
  file: "give-back-hold.lua",
  line: 14,
  text: `\
local state, ticket = KEYS[1], ARGV[1]
local field, waiters, waits = redis.call('HMGET', state, 'holder', 'waiters', 'next'), {}, false
for other, seen in (field[2] or ''):gmatch('(%S+) (%d+)') do
if other == ticket then waits = true else waiters[#waiters + 1] = other .. ' ' .. seen end
end
if waits and #waiters > 0 then redis.call('HSET', state, 'waiters', table.concat(waiters, ' ')) end
if waits and #waiters == 0 then redis.call('HDEL', state, 'waiters') end
if holderOf(field[1]) ~= ticket then return { 'LEFT' } end
redis.call('HDEL', state, 'holder')
if not field[3] and #waiters == 0 and redis.call('HLEN', state) == 5 then redis.call('UNLINK', state) end
return { 'LEFT' }`,
};

const pruneAt6: ScriptPart = {
  file: "includes/prune.lua",
  line: 6,
  text: `\
local function prune(limit)
local now = '(' .. whole(math.floor(micros() / 1000))
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], 1, now, 'LIMIT', 0, limit)) do
local session = name:sub(2)
redis.pcall('ZREM', KEYS[1], name, session)
redis.pcall('HDEL', KEYS[2], session == '' and '!' or session)
end
end`,
};

const listEntriesAt15: ScriptPart = {
  file: "list-entries.lua",
  line: 15,
  text: `\
prune(500)
local now, limit = math.floor(micros() / 1000), tonumber(ARGV[2])
local reply, found, left, last = { '' }, 0, limit + 1000, ARGV[1] == '' and '+inf' or '(' .. ARGV[1]
while found < limit and left > 0 do
local page = redis.call('ZREVRANGEBYSCORE', KEYS[1], last, '100000000000000', 'WITHSCORES', 'LIMIT', 0, limit - found)
if #page == 0 then return reply end
local names, marks = {}, {}
for i = 1, #page, 2 do
names[#names + 1] = page[i]
marks[#marks + 1] = '!' .. page[i]
end
local expiries = redis.call('ZMSCORE', KEYS[1], unpack(marks))
local values = redis.call('HMGET', KEYS[2], unpack(names))
for i, name in ipairs(names) do
if not expiries[i] or tonumber(expiries[i]) >= now then
found = found + 1
reply[#reply + 1], reply[#reply + 2] = name, values[i] or ''
end
end
left, last = left - #names, '(' .. page[#page]
end
if redis.call('ZCOUNT', KEYS[1], '100000000000000', last) > 0 then reply[1] = last:sub(2) end
return reply`,
};

const markOwnerAt17: ScriptPart = {
  file: "mark-owner.lua",
  line: 17,
  text: `\
redis.call('ZADD', KEYS[1], whole(math.floor(micros() / 1000) + ARGV[1]), '!')
redis.call('HSET', KEYS[2], '!', 'erasing')
expireIndex()
local reply = {}
for _, session in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '100000000000000', '+inf', 'LIMIT', 0, ARGV[2])) do
reply[#reply + 1], reply[#reply + 2] = session, stampOf(redis.call('HGET', KEYS[2], session))
end
return reply`,
};

const openCopyAt12: ScriptPart = {
  file: "open-copy.lua",
  line: 12,
  text: `\
local refusal = gate({}, loadSession(KEYS[3], nil, nil, redis.pcall), 'erased')
if refusal then return refusal end
if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then return { 'EXISTS' } end
return { 'NEXT', redis.call('HGET', KEYS[4], 'next') or '' }`,
};

const scoresAt7: ScriptPart = {
  file: "includes/scores.lua",
  line: 7,
  text: `\
local function front()
local top = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
return math.max(micros(), tonumber(top or 0) + 1)
end
local function place(wanted)
local step = 1
while redis.call('ZCOUNT', KEYS[1], whole(wanted), whole(wanted)) > 0 do wanted, step = wanted + step, 2 * step end
return wanted
end`,
};

const putEntriesAt26: ScriptPart = {
  file: "put-entries.lua",
  line: 26,
  text: `\
local request = cjson.decode(ARGV[1])
local mark, announces = redis.call('HGET', KEYS[2], '!'), request.mode == 'announce'
local ends = mark and tonumber(redis.call('ZSCORE', KEYS[1], '!') or 0) or 0
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
end
if announces then reply[2] = wasAnnounced and stamp ~= request.own and '' or stampOf(value) end
end
prune(8)
expireIndex()
return reply`,
};

const readAllAt11: ScriptPart = {
  file: "read-all.lua",
  line: 11,
  text: `\
local s = loadSession(KEYS[3], nil, nil, redis.pcall)
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
local records = redis.call('LRANGE', KEYS[1], ARGV[2], ARGV[3])
local field = s.isHash and redis.call('HMGET', KEYS[3], 'epoch', 'rev', 'base', 'next') or {}
return { 'LOG', records, { field[1] or '', field[2] or '', field[3] or '', field[4] or '' } }`,
};

const readCopyAt16: ScriptPart = {
  file: "read-copy.lua",
  line: 16,
  text: `\
local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
if s.erased or (s.epoch == '' and s.length == 0 and s.known == 0) then return { 'NONE' } end
local left = redis.call('PTTL', KEYS[3])
local expires = left >= 0 and string.format('%.0f', now() + left) or ''
local turns, marks = redis.call('HGET', KEYS[3], 'turns') or '', {}
for at = 1, #turns, 14 do
marks[#marks + 1] = markText(readMark(turns:sub(at, at + (14 - 1))))
end
return { 'STATE', s.epoch, s.length, s.damaged and 1 or 0, expires, redis.call('HGETALL', KEYS[3]), marks }`,
};

const readEpochAt11: ScriptPart = {
  file: "read-epoch.lua",
  line: 11,
  text: `\
local s = loadSession(KEYS[1], nil, nil, redis.pcall)
return gate(cjson.decode(ARGV[1]), s, 'owner') or { 'LIFE', s.epoch }`,
};

const readMarksAt13: ScriptPart = {
  file: "read-marks.lua",
  line: 13,
  text: `\
local refusal = gate(cjson.decode(ARGV[1]), loadSession(KEYS[3]), 'owner')
if refusal then return refusal end
local marks, known, count = {}, {}, tonumber(ARGV[2])
for i = 1, count do marks[i] = markText(readMark(ARGV[i + 2])) end
for i = count + 3, #ARGV do known[#known + 1] = redis.call('HGET', KEYS[2], ARGV[i]) or '' end
return { 'MARKS', marks, known }`,
};

const readPageAt12: ScriptPart = {
  file: "read-page.lua",
  line: 12,
  text: `\
local refusal = gate(cjson.decode(ARGV[1]), loadSession(KEYS[3]), 'owner')
if refusal then return refusal end
local field = redis.call('HMGET', KEYS[3], 'epoch', 'rev', 'base', 'start', 'next', 'head', 'headCount', 'tokens', 'counter', 'owner', 'erased', 'sum')
local records = redis.call('LRANGE', KEYS[1], ARGV[2], ARGV[3])
return { 'PAGE', field, records, redis.call('LLEN', KEYS[1]), redis.call('HLEN', KEYS[2]) }`,
};

const readRoundsAt13: ScriptPart = {
  file: "read-rounds.lua",
  line: 13,
  text: `\
local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
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
return { 'ROUNDS', s.base, s.rounds, s.damaged and '1' or '0', first, redis.call('LRANGE', KEYS[1], first, -1) }`,
};

const readSideAt11: ScriptPart = {
  file: "read-side.lua",
  line: 11,
  text: `\
local refusal = gate(cjson.decode(ARGV[1]), loadSession(KEYS[1]), 'owner')
if refusal then return refusal end
local found = { 'SIDE' }
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
if name:sub(1, #ARGV[2]) == ARGV[2] then
found[#found + 1] = name
found[#found + 1] = redis.call('HGET', KEYS[1], name)
end
end
return found`,
};

const readStatsAt14: ScriptPart = {
  file: "read-stats.lua",
  line: 14,
  text: `\
local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
local left = math.max(redis.call('PTTL', KEYS[3]), redis.call('PTTL', KEYS[1]))
local field = redis.call('HMGET', KEYS[3], 'reduced', 'created', 'updated')
local next = s.begun and s.next or s.length
local whole = s.start == s.base and s.base == 0 and s.headCount == 0
local expires = left >= 0 and string.format('%.0f', now() + left) or ''
return {
'STATS', s.epoch, s.length, s.rounds, s.headCount + next - s.start,
s.tokens and string.format('%.17g', s.tokens) or '',
s.counter, whole and 1 or 0, field[1] or '0', field[2] or '', field[3] or '', expires, s.damaged and 1 or 0
}`,
};

const readTurnAt12: ScriptPart = {
  file: "read-turn.lua",
  line: 12,
  text: `\
local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
local reply = storedTurn(s, { name = ARGV[2], stored = -1 })
return reply[1] == 'TURN' and reply or { 'UNREADABLE' }`,
};

const readViewAt12: ScriptPart = {
  file: "read-view.lua",
  line: 12,
  text: `\
local refusal = gate(cjson.decode(ARGV[1]), loadSession(KEYS[3]), 'owner')
if refusal then return refusal end
local reply, found = view(), {}
for first = 2, #ARGV, 7000 do
for _, value in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, first, math.min(first + 6999, #ARGV)))) do
found[#found + 1] = value
end
end
return { 'VIEW', reply[1], reply[2], reply[3], reply[4], found }`,
};

const readWindowAt14: ScriptPart = {
  file: "read-window.lua",
  line: 14,
  text: `\
local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
local kind, place, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local base, next = s.base, s.begun and s.next or s.length
local function within(position) return math.min(math.max(position, base), next) end
local from, to
if kind == 'around' or kind == 'since' then
local stored = redis.call('HGET', KEYS[2], place)
local position = stored and tonumber(stored:sub(8 + 1))
if not position or position < base or position >= next then return { 'UNKNOWN' } end
local centred = within(math.min(position - math.floor((limit - 1) / 2), next - limit))
from = kind == 'since' and position or centred
elseif kind == 'after' then
from = within(place + 1)
else
to = within(kind == 'before' and tonumber(place) or next)
from = math.max(base, to - limit)
end
to = to or math.min(next, from + limit)
local records = to > from and redis.call('LRANGE', KEYS[1], from - base, to - 1 - base) or {}
local head = from < s.start and redis.call('HGET', KEYS[3], 'head') or ''
return { 'PAGE', from, to, base, s.start, next, s.damaged and 1 or 0, head, records, s.epoch, s.rev }`,
};

const mendAt9: ScriptPart = {
  file: "includes/mend.lua",
  line: 9,
  text: `\
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
end`,
};

const restoreTurnsAt8: ScriptPart = {
  file: "includes/restore-turns.lua",
  line: 8,
  text: `\
local function discardedTurns()
local names = redis.call('HGET', KEYS[3], 'turns') or ''
if #names % 14 ~= 0 or names:match('[^%w_-]') then
redis.call('HDEL', KEYS[3], 'turns')
names = ''
end
local marks = {}
for at = 1, #names, 14 do
marks[names:sub(at, at + (14 - 1))] = { 'T', 0, 0 }
end
return marks
end
local function restoreTurns(base, length)
local marks, entries, own = discardedTurns(), {}, length + #ARGV / 3 <= 32
for i = 3, #ARGV, 3 do
local kind, count = ARGV[i + 1]:match('^([Tt])(%d+)$')
marks[ARGV[i]] = { kind, tonumber(count), base + ARGV[i + 2] }
end
for name, mark in pairs(marks) do
if own then writeMark(name, unpack(mark)) else entries[#entries + 1] = sharedEntry(name, unpack(mark)) end
end
if #entries > 0 then putShared('', entries) end
end`,
};

const restoreDiscardedAt9: ScriptPart = {
  file: "includes/restore-discarded.lua",
  line: 9,
  text: `\
local function restoreDiscarded()
local numbers, texts, last, count = {}, {}, 0, 0
for _, name in ipairs(redis.call('HKEYS', KEYS[3])) do
local number = name:match('^discarded:(%d+)$')
if number then numbers[#numbers + 1] = number end
end
table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
for _, number in ipairs(numbers) do
local chunk = redis.call('HGET', KEYS[3], 'discarded:' .. number)
redis.call('HDEL', KEYS[3], 'discarded:' .. number)
if #chunk % 32 == 0 and chunk:match('^[%w_-]+$') then texts[#texts + 1] = chunk end
end
redis.call('HDEL', KEYS[3], 'discarded')
for i, chunk in ipairs(texts) do
local entries = {}
for at = 1, #chunk, 32 do
entries[#entries + 1] = chunk:sub(at, at + (14 - 1))
entries[#entries + 1] = chunk:sub(at + 14, at + (14 + 8 - 1)) .. '-1'
end
redis.call('HSET', KEYS[3], 'discarded:' .. i, chunk)
inChunks('HSET', KEYS[2], entries, 1, #entries)
last, count = i, count + #entries / 2
end
if last > 0 then redis.call('HSET', KEYS[3], 'discarded', '1 ' .. last .. ' ' .. count) end
end`,
};

const rebuildAt26: ScriptPart = {
  file: "rebuild.lua",
  line: 26,
  text: `\
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, length = cjson.decode(ARGV[1]), redis.call('LLEN', log)
local s = loadSession(state, nil, nil, redis.pcall)
local function repeated() return s.rev == request.newRev and { 'REBUILT', s.owner or '' } end
local refusal = gate(request, s, 'erased owner', repeated)
if refusal then return refusal end
if s.left and not s.owner and not request.owner and #s.left.marks > 0 then return { 'OWNED' } end
local isHash, field = s.isHash, s.isHash and redis.call('HMGET', state, 'epoch', 'rev', 'base', 'next') or {}
for i = 1, 4 do
if (field[i] or '') ~= request.fields[i] then return { 'CHANGED' } end
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
local sum = newSum(request.sum, request.newRev .. (s.sum or '') .. table.concat(redis.call('TIME'), ' '))
redis.call('HSET', state, 'sum', sumText(sum))
local key = redis.call('HGET', state, 'key') or ''
for _, name in ipairs(request.recordKeys) do
if not (' ' .. key .. ' '):find(' ' .. name .. ' ', 1, true) then key = key .. ' ' .. name end
end
if #request.recordKeys > 0 then redis.call('HSET', state, 'key', key:match('^%s*(.-)$')) end
local owner = s.owner or request.owner
if owner then redis.call('HSETNX', state, 'owner', owner) end
redis.call('UNLINK', ids)
local base = mend(length, request.rounds)
if length > 0 then explainIds(0, length + #ARGV / 3, true) end
if length > 0 and owner then redis.call('HSET', ids, '[owner]', owner) end
restoreTurns(base, length)
restoreDiscarded()
local entries = {}
for i = 1, length do
local at = (14 + 8) * (i - 1)
entries[2 * i - 1] = ARGV[2]:sub(at + 1, at + 14)
local digest = ARGV[2]:sub(at + (14 + 1), at + (14 + 8))
entries[2 * i] = digest .. string.format('%.0f', base + i - 1)
end
inChunks('HSET', ids, entries)
if left >= 0 then expireAll(now() + left) else keepAll() end
return { 'REBUILT', redis.call('HGET', state, 'owner') or '' }`,
};

const relabelSessionAt14: ScriptPart = {
  file: "relabel-session.lua",
  line: 14,
  text: `\
local state, request, s = KEYS[1], cjson.decode(ARGV[1]), loadSession(KEYS[1])
local refusal = gate(request, s, 'erased')
if refusal then return refusal end
if s.epoch == '' then return { 'NONE' } end
if s.label == request.newVersion then return { 'CHANGED' } end
if (s.label or '') ~= request.version then return { 'STALE' } end
redis.call('HSET', state, 'label', request.newVersion)
for i, name in ipairs({ 'title', 'metadata', 'listed' }) do
if ARGV[2 * i] == '1' then
redis.call('HSET', state, name, ARGV[2 * i + 1])
else
redis.call('HDEL', state, name)
end
end
return { 'CHANGED' }`,
};

const releaseLeaseAt9: ScriptPart = {
  file: "release-lease.lua",
  line: 9,
  text: `\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return { 'NOT_HELD' } end
redis.call('UNLINK', KEYS[1])
return { 'RELEASED' }`,
};

const renewHoldAt14: ScriptPart = {
  file: "renew-hold.lua",
  line: 14,
  text: `\
local holder, _, fence = holderOf(redis.call('HGET', KEYS[1], 'holder'))
if holder ~= ARGV[1] then return { 'LOST' } end
redis.call('HSET', KEYS[1], 'holder', string.format('%s %.0f %s', holder, now() + ARGV[2], fence))
return { 'HELD', redis.call('PTTL', KEYS[1]) }`,
};

const restartSessionAt15: ScriptPart = {
  file: "restart-session.lua",
  line: 15,
  text: `\
local state, request = KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state)
local function repeated() return s.epoch == request.newEpoch and { 'CLEARED', '' } end
local refusal = gate(request, s, 'erased owner epoch fence', repeated)
if refusal then return refusal end
local field = redis.call('HMGET', state, 'fence', 'holder', 'waiters')
local left, time = redis.call('PTTL', state), now()
redis.call('UNLINK', unpack(KEYS))
local epoch, at = request.newEpoch, string.format('%.0f', time)
redis.call('HSET', state, 'epoch', epoch, 'rev', epoch, 'created', at, 'updated', at)
for i, name in ipairs({ 'fence', 'holder', 'waiters' }) do
if field[i] then redis.call('HSET', state, name, field[i]) end
end
if left >= 0 then expireAll(time + left) end
return { 'CLEARED', s.owner or '' }`,
};

const rewindAt15: ScriptPart = {
  file: "rewind.lua",
  line: 15,
  text: `\
local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[3], KEYS[1], KEYS[2])
local function repeated() return s.rev == request.newRev and { 'REWOUND', s.owner or '' } end
local refusal = gate(request, s, nil, repeated)
if refusal then return refusal end
if s.next ~= request.next or not isAsRead(s, request) then return { 'STALE' } end
if request.to < s.base then return { 'RANGE' } end
local shown = request.to < s.start or request.to == s.start and s.headCount == 0
local headless = shown or redis.call('HSTRLEN', KEYS[3], 'head') == 0
local named = s.owner or redis.call('HEXISTS', KEYS[3], 'title') + redis.call('HEXISTS', KEYS[3], 'discarded') > 0
local stays = named or redis.call('HEXISTS', KEYS[3], 'holder') == 1
if request.to == s.base and headless and not stays then
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
return { 'REWOUND', s.owner or '' }
end
truncate(s, request.to, request.newRev, ARGV[2], ARGV, 3)
redis.call('HSET', KEYS[3], 'rev', request.newRev, 'cut', request.newRev)
return { 'REWOUND', s.owner or '' }`,
};

const stageCopyAt25: ScriptPart = {
  file: "stage-copy.lua",
  line: 25,
  text: `\
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, rounds = cjson.decode(ARGV[1]), 0
local count, firstRecord = request.count, #ARGV - request.count
local stored = redis.call('HGET', state, 'next')
if tonumber(stored or request.base) ~= request.from then return { 'STAGED', stored or '' } end
local hash, other, value = unpack(request.before or {})
local isOther = hash and redis.call('HGET', ids, hash) ~= value and redis.call('HGET', ids, other) ~= value
if isOther then return { 'STAGED', '' } end
explainIds(redis.call('HLEN', ids), count, not stored)
for i = 1, count do
local at = 3 * i - 1
if redis.call('HSETNX', ids, ARGV[at], ARGV[at + 2]) == 0 then
redis.call('HSET', ids, ARGV[at + 1], ARGV[at + 2])
end
rounds = rounds + (beginsRound(ARGV[firstRecord + i]) and 1 or 0)
end
for at = 3 * count + 2, 3 * count + 1 + 4 * request.turns, 4 do
local mark = readMark(ARGV[at])
local total = (mark and mark.count or 0) + ARGV[at + 1]
writeMark(ARGV[at], total == tonumber(ARGV[at + 3]) and 'T' or 't', total, mark and mark.first or ARGV[at + 2])
end
inChunks('RPUSH', log, ARGV, firstRecord + 1)
local next = string.format('%.0f', request.from + count)
local sum = extendSum(tonumber(redis.call('HGET', state, 'sum') or 0), count, request.sum)
redis.call('HSET', state, 'next', next, 'owner', request.owner, 'sum', sumText(sum))
redis.call('HINCRBY', state, 'rounds', rounds)
expireAll(now() + request.ttl)
return { 'STAGED', next }`,
};

const swapRecordsAt14: ScriptPart = {
  file: "swap-records.lua",
  line: 14,
  text: `\
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, s = cjson.decode(ARGV[1]), loadSession(state, log, ids)
local refusal = gate(request, s, 'owner')
if refusal then return refusal end
if s.epoch ~= request.epoch then return { 'SWAPPED', 0 } end
local swapped = 0
for i, swap in ipairs(request.records) do
local index = swap.position - s.base
local stored = index >= 0 and redis.call('LINDEX', log, index)
if stored and redis.sha1hex(stored) == swap.was then
redis.call('LSET', log, index, ARGV[i + 1])
local known = swap.hash and redis.call('HGET', ids, swap.hash)
if known and tonumber(known:sub(8 + 1)) == swap.position then
redis.call('HSET', ids, swap.hash, swap.digest .. known:sub(8 + 1))
end
swapped = swapped + 1
end
end
local sum = swapped > 0 and newSum(s.sum, request.token)
if sum then redis.call('HSET', state, 'sum', sumText(sum)) end
for i, swap in ipairs(request.fields) do
local stored = redis.call('HGET', state, swap.name)
if stored and redis.sha1hex(stored) == swap.was then
redis.call('HSET', state, swap.name, ARGV[#request.records + i + 1])
swapped = swapped + 1
end
end
return { 'SWAPPED', swapped }`,
};

const beginHeldAt8: ScriptPart = {
  file: "includes/begin-held.lua",
  line: 8,
  text: `\
local function beginHeld(state, s, request, hold)
keepHold(state, hold)
if s.epoch ~= '' then return s.epoch end
local time = now()
redis.call('HSET', state, 'epoch', request.epoch, 'rev', request.epoch, 'created', time, 'updated', time)
if request.ttlMs then expireAll(time + request.ttlMs) end
return request.epoch
end`,
};

const takeAndReadAt15: ScriptPart = {
  file: "take-and-read.lua",
  line: 15,
  text: `\
local state, request = KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state)
local refusal = gate(request, s, 'erased owner')
if refusal then return refusal end
local mark, found = request.turn and readMark(request.turn), {}
local hold = not (mark and mark.kind == 'T') and seekHold(state, request, s.fence)
if type(hold) == 'number' then return { 'WAITS', hold } end
local epoch = hold and beginHeld(state, s, request, hold)
for first = 2, #ARGV, 7000 do
for _, value in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, first, math.min(first + 6999, #ARGV)))) do
found[#found + 1] = value
end
end
if not hold then return { 'VIEW', view(), found } end
return { 'HELD', view(), found, hold.fence, epoch, redis.call('PTTL', state) }`,
};

const takeHoldAt15: ScriptPart = {
  file: "take-hold.lua",
  line: 15,
  text: `\
local state, request = KEYS[1], cjson.decode(ARGV[1])
local s = loadSession(state)
local refusal = gate(request, s, 'erased owner')
if refusal then return refusal end
local hold = seekHold(state, request, s.fence)
if type(hold) == 'number' then return { 'WAITS', hold } end
return { 'HELD', hold.fence, beginHeld(state, s, request, hold), redis.call('PTTL', state) }`,
};

const unmarkOwnerAt17: ScriptPart = {
  file: "unmark-owner.lua",
  line: 17,
  text: `\
local erased = 0
for i = 4, #ARGV do
if redis.call('ZSCORE', KEYS[1], ARGV[i]) then erased = erased + 1 end
end
if ARGV[3] ~= '1' and redis.call('ZCOUNT', KEYS[1], '100000000000000', '+inf') > erased then return 'MORE' end
for i = 4, #ARGV do
redis.call('ZREM', KEYS[1], ARGV[i], '!' .. ARGV[i])
redis.call('HDEL', KEYS[2], ARGV[i])
end
for _, session in ipairs(redis.call('HKEYS', KEYS[2])) do
if not redis.call('ZSCORE', KEYS[1], session) then redis.call('HDEL', KEYS[2], session) end
end
redis.call('ZADD', KEYS[1], whole(math.floor(micros() / 1000) + ARGV[2]), '!')
redis.call('HSET', KEYS[2], '!', ARGV[1])
expireIndex()
return 'ENDED'`,
};

const writeSideAt21: ScriptPart = {
  file: "write-side.lua",
  line: 21,
  text: `\
local state, request = KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state, KEYS[1], KEYS[2])
local refusal = gate(request, s)
if refusal then return refusal end
for i = 2, 1 + 3 * request.expects, 3 do
local stored = redis.call('HGET', state, ARGV[i])
if (stored and '1' or '0') ~= ARGV[i + 1] or stored and stored ~= ARGV[i + 2] then return { 'CONFLICT' } end
end
local exists = s.epoch ~= ''
if not exists and request.sets == 0 then return { 'OK', '' } end
local time, firstSet = now(), 2 + 3 * request.expects
local fields = { 'updated', time }
if not exists then fields = { 'updated', time, 'epoch', request.epoch, 'rev', request.epoch, 'created', time } end
for i = firstSet, firstSet + 2 * request.sets - 1 do fields[#fields + 1] = ARGV[i] end
local function set(name, value) fields[#fields + 1] = name; fields[#fields + 1] = value end
claim(request, s, set)
if request.sets > 0 then noteKey(request, s.key, set) end
inChunks('HSET', state, fields)
changeSide(state, firstSet + 2 * request.sets, #ARGV, request.bound)
if request.ttl then expireAll(time + request.ttl) end
return { 'OK', s.owner or '' }`,
};

export const appendScript = script([
  plainAppendAt17,
  plainClaimsAt7,
  plainAppendAt37,
  plainMarksAt9,
  plainAppendAt47,
  plainWritesAt7,
  countUsageAt7,
  plainWritesAt27,
  plainAppendAt49,
  numbersAt5,
  plainAppendAt52,
  viewAt7,
  plainAppendAt53,
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  sortOutAt7,
  compareKeysAt6,
  sharedMarksAt8,
  readMarkAt6,
  storedTurnAt6,
  exceedsAt4,
  viewAt7,
  repeatedAppendAt16,
  asReadAt6,
  beginsRoundAt3,
  nowAt3,
  inChunksAt3,
  forgetAt8,
  logSumAt11,
  writeMarkAt8,
  truncateAt17,
  nameOwnerAt5,
  claimAt6,
  logFieldsAt6,
  noteKeyAt4,
  changeSideAt6,
  explainIdsAt8,
  markTurnAt5,
  countUsageAt7,
  expireAllAt4,
  holderAt4,
  seekHoldAt7,
  appendHoldAt8,
  appendAt47,
]);

export const beginSwapsScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  beginSwapsAt12,
]);

export const clearSessionScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  clearSessionAt12,
]);

export const commitReductionScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  asReadAt6,
  nowAt3,
  rememberReductionAt6,
  noteKeyAt4,
  inChunksAt3,
  forgetAt8,
  readDiscardedAt7,
  writeDiscardedAt6,
  discardIdsAt13,
  sharedMarksAt8,
  writeMarkAt8,
  rememberTurnsAt8,
  commitReductionAt21,
]);

export const countEntriesScript = script([
  listTimeAt3,
  countEntriesAt12,
]);

export const describeSessionScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  describeSessionAt13,
]);

export const dropEntriesScript = script([
  listTimeAt3,
  stampOfAt4,
  expireListsAt6,
  dropEntriesAt14,
]);

export const eraseSessionScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  expireAllAt4,
  nowAt3,
  eraseSessionAt18,
]);

export const extendExpiryScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  expireAllAt4,
  nowAt3,
  extendExpiryAt14,
]);

export const finishCopyScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  nowAt3,
  inChunksAt3,
  explainIdsAt8,
  writeDiscardedAt6,
  adoptDiscardedAt8,
  sharedMarksAt8,
  writeMarkAt8,
  readMarkAt6,
  expireAllAt4,
  keepAllAt3,
  finishCopyAt26,
]);

export const finishSwapsScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  finishSwapsAt11,
]);

export const giveBackHoldScript = script([
  holderAt4,
  giveBackHoldAt14,
]);

export const listEntriesScript = script([
  listTimeAt3,
  pruneAt6,
  listEntriesAt15,
]);

export const markOwnerScript = script([
  listTimeAt3,
  expireListsAt6,
  stampOfAt4,
  markOwnerAt17,
]);

export const openCopyScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  openCopyAt12,
]);

export const putEntriesScript = script([
  listTimeAt3,
  stampOfAt4,
  scoresAt7,
  pruneAt6,
  expireListsAt6,
  putEntriesAt26,
]);

export const readAllScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  readAllAt11,
]);

export const readCopyScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  nowAt3,
  sharedMarksAt8,
  readMarkAt6,
  readCopyAt16,
]);

export const readEpochScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  readEpochAt11,
]);

export const readMarksScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  sharedMarksAt8,
  readMarkAt6,
  readMarksAt13,
]);

export const readPageScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  readPageAt12,
]);

export const readRoundsScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  beginsRoundAt3,
  readRoundsAt13,
]);

export const readSideScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  readSideAt11,
]);

export const readStatsScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  nowAt3,
  readStatsAt14,
]);

export const readTurnScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  sharedMarksAt8,
  readMarkAt6,
  storedTurnAt6,
  readTurnAt12,
]);

export const readViewScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  viewAt7,
  readViewAt12,
]);

export const readWindowScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  readWindowAt14,
]);

export const rebuildScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  expireAllAt4,
  keepAllAt3,
  nowAt3,
  mendAt9,
  explainIdsAt8,
  sharedMarksAt8,
  writeMarkAt8,
  restoreTurnsAt8,
  inChunksAt3,
  restoreDiscardedAt9,
  logSumAt11,
  rebuildAt26,
]);

export const relabelSessionScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  relabelSessionAt14,
]);

export const releaseLeaseScript = script([
  releaseLeaseAt9,
]);

export const renewHoldScript = script([
  holderAt4,
  nowAt3,
  renewHoldAt14,
]);

export const restartSessionScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  expireAllAt4,
  nowAt3,
  restartSessionAt15,
]);

export const rewindScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  asReadAt6,
  beginsRoundAt3,
  nowAt3,
  inChunksAt3,
  forgetAt8,
  logSumAt11,
  sharedMarksAt8,
  writeMarkAt8,
  readMarkAt6,
  truncateAt17,
  rewindAt15,
]);

export const stageCopyScript = script([
  expireAllAt4,
  nowAt3,
  explainIdsAt8,
  beginsRoundAt3,
  sharedMarksAt8,
  numbersAt5,
  readMarkAt6,
  writeMarkAt8,
  inChunksAt3,
  logSumAt11,
  stageCopyAt25,
]);

export const swapRecordsScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  logSumAt11,
  swapRecordsAt14,
]);

export const takeAndReadScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  holderAt4,
  seekHoldAt7,
  nowAt3,
  expireAllAt4,
  beginHeldAt8,
  sharedMarksAt8,
  readMarkAt6,
  viewAt7,
  takeAndReadAt15,
]);

export const takeHoldScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  holderAt4,
  seekHoldAt7,
  nowAt3,
  expireAllAt4,
  beginHeldAt8,
  takeHoldAt15,
]);

export const unmarkOwnerScript = script([
  listTimeAt3,
  expireListsAt6,
  unmarkOwnerAt17,
]);

export const writeSideScript = script([
  numbersAt5,
  ownerLeftAt8,
  loadSessionAt12,
  gateAt17,
  nowAt3,
  nameOwnerAt5,
  claimAt6,
  noteKeyAt4,
  inChunksAt3,
  changeSideAt6,
  expireAllAt4,
  writeSideAt21,
]);

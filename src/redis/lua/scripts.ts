// Written by `npm run lua` from the .lua files of this folder. Change those.

import { script, type ScriptPart } from "../script.js";

export const plainAppendAt19: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 19,
  text: `\
local at, next, begun, addedSum, ttl, most, mostFromStart, kept, keptFrom, used, claims, from
local counter, added, mostTokens, owner, key, epoch, token = '', '', '', '', '', '', ''
local turn, stored, kind, ticket, holdMs, back, label = '', '', '', '', '', '', ''
if ARGV[1]:byte() ~= 123 then
at, next, begun, addedSum, ttl, most, mostFromStart, kept, keptFrom, used, claims, from =
struct.unpack('sssssssssss', ARGV[1])
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

export const plainClaimsAt7: ScriptPart = {
  file: "includes/plain-claims.lua",
  line: 7,
  text: `\
local expected = field[1] == at and (field[3] or ''):find('^%S+$') and not field[11]
and (field[10] or ''):match('^%S*') == key
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

export const plainAppendAt40: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 40,
  text: `\
if expected and rounds then
rounds, base, start, head = rounds + 0, base + 0, start + 0, head + 0
shows = most ~= '' and head + next - start > most + 0 or mostFromStart ~= '' and next - start > mostFromStart + 0
or mostTokens ~= '' and total > mostTokens + 0
kept = kept == field[3] .. ' ' .. base .. ' ' .. sum and start >= keptFrom + 0 and last - 1 - base or nil
length, known = call('LLEN', log), call('HLEN', ids)
expected = rounds <= last and base <= start and start <= last and head <= 5e13
and length > 0 and length == last - base and known > length
and (known > 32 or known + count + (stored == '0' and 1 or 0) <= 32)
end`,
};

export const plainMarksAt9: ScriptPart = {
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
expected = expected and size and size + 0 == stored + 0 and place + 0 <= 5e13
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

export const plainAppendAt51: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 51,
  text: `\
if expected and rounds then`,
};

export const plainWritesAt7: ScriptPart = {
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

export const countUsageAt7: ScriptPart = {
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

export const plainWritesAt27: ScriptPart = {
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

export const plainAppendAt53: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 53,
  text: `\
local reply = next .. ' ' .. updated .. ' ' .. field[3] .. ' ' .. (field[4] or '')
if shows then`,
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

export const plainAppendAt56: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 56,
  text: `\
`,
};

export const viewAt7: ScriptPart = {
  file: "includes/view.lua",
  line: 7,
  text: `\
local function view(first)
local field = redis.call('HMGET', KEYS[3], 'epoch', 'rev', 'base', 'start', 'next', 'head', 'headCount', 'tokens', 'counter', 'owner', 'erased', 'sum', 'key', 'dek')
local base, start, next = wholeFrom(field[3] or '0'), wholeFrom(field[4] or '0'), wholeFrom(field[5])
local sound = base and start and next and base <= start and start <= next
sound = sound and wholeFrom(field[7] or '0') and amountFrom(field[8] or '0')
first = first or sound and start - base or 0
return { field, redis.call('LRANGE', KEYS[1], first, -1), redis.call('HLEN', KEYS[2]), first }
end`,
};

export const plainAppendAt57: ScriptPart = {
  file: "includes/plain-append.lua",
  line: 57,
  text: `\
shows = view(kept)
end
if ticket == '' then return shows and { reply, shows } or reply end
return { reply, shows or '', fence, ttl ~= '' and ttl or call('PTTL', state) }
end
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

export const sortOutAt8: ScriptPart = {
  file: "includes/sort-out.lua",
  line: 8,
  text: `\
local function sortOut(s, count, digests)
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
local same = digest == ARGV[2 * i + 1]:sub(1, 8) or digests and digest == digests[i]
if same or digest == '--------' then
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

export const sharedMarksAt8: ScriptPart = {
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

export const readMarkAt6: ScriptPart = {
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

export const storedTurnAt6: ScriptPart = {
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

export const exceedsAt4: ScriptPart = {
  file: "includes/exceeds.lua",
  line: 4,
  text: `\
local function exceeds(request, s, next, total, counter)
if request.maxMessages and s.headCount + next - s.start > request.maxMessages then return true end
if request.maxFromStart and next - s.start > request.maxFromStart then return true end
return request.maxTokens and (not total or counter ~= request.counter or total > request.maxTokens) or false
end`,
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

export const repeatedAppendAt16: ScriptPart = {
  file: "includes/repeated-append.lua",
  line: 16,
  text: `\
local function isSame(request, s, reply)
if reply[2] == 1 or request.count == 0 or reply[3] ~= request.turn.stored + request.count then return false end
local _, duplicates = sortOut(s, request.count, request.digests)
return duplicates == request.count
end
local function repeatedTurn(request, s, reply)
if isSame(request, s, reply) then reply[2] = 2 end
if exceeds(request, s, s.next, s.tokens, s.counter) then reply[8] = view() end
return reply
end
local function repeatedCut(request, s)
local shown = exceeds(request, s, s.next, s.tokens, s.counter) and view() or ''
return { 'OK', request.count, 0, {}, s.next, s.epoch, shown, now(), s.owner or '' }
end
local function repeatedAppend(request, s)
local cut, reply, mark = request.cut
if cut and s.rev == cut.newRev then return repeatedCut(request, s) end
if request.turn then reply, mark = storedTurn(s, request.turn) end
if reply then return repeatedTurn(request, s, reply) end
local atEnd = not cut or s.next == cut.next
s.next = cut and cut.to or s.next
local known, duplicates, conflicts = sortOut(s, request.count, request.digests)
if not known then return { 'DAMAGED' } end
local fresh = request.count - duplicates - #conflicts
local mayBePlain = request.keys and not request.digests and (s.key == '' or s.key:find('^%S+ %S+ plain$'))
if #conflicts > 0 and mayBePlain then return { 'DIFFERS' } end
local repeats = request.count > 0 and fresh == 0 and (#conflicts == 0 or request.keep)
if repeats and request.expectedEpoch == '' then request.expectedEpoch = s.epoch end
return nil, mark, known, duplicates, fresh, conflicts, repeats, atEnd
end`,
};

export const asReadAt6: ScriptPart = {
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

export const beginsRoundAt3: ScriptPart = {
  file: "includes/begins-round.lua",
  line: 3,
  text: `\
local function beginsRound(record)
return record:byte(10) == 104 and record:sub(1, 15) == '{"type":"human"'
end`,
};

export const inChunksAt3: ScriptPart = {
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

export const forgetAt8: ScriptPart = {
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

export const logSumAt11: ScriptPart = {
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

export const writeMarkAt8: ScriptPart = {
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

export const truncateAt18: ScriptPart = {
  file: "includes/truncate.lua",
  line: 18,
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
local all = {}
for _, name in ipairs(redis.call('HKEYS', ids)) do
if #name == 14 then all[#all + 1] = name end
end
forget(table.concat(all), to, math.huge)
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

export const nameOwnerAt5: ScriptPart = {
  file: "includes/name-owner.lua",
  line: 5,
  text: `\
local function nameOwner(s)
if s.length > 0 then redis.call('HSET', KEYS[2], '[owner]', s.owner) end
end`,
};

export const claimAt6: ScriptPart = {
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

export const logFieldsAt6: ScriptPart = {
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

export const noteKeyAt8: ScriptPart = {
  file: "includes/note-key.lua",
  line: 8,
  text: `\
local function hasTexts()
for _, name in ipairs(redis.call('HKEYS', KEYS[#KEYS])) do
if name == 'next' or name == 'title' or name == 'metadata' or name:sub(1, 5) == 'side:' then return true end
end
return false
end
local function noteKey(request, s, set)
local keys = request.keys
if s.key ~= '' or not (keys and keys.key) then return false end
s.key, s.dek = keys.key .. (hasTexts() and ' plain' or ''), keys.dek
set('key', s.key)
set('dek', s.dek)
return true
end
local function keepKey(s, ids)
if s.key ~= '' then redis.call('HSET', ids, '[key]', s.key, '[dek]', s.dek) end
end`,
};

export const changeSideAt6: ScriptPart = {
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

export const explainIdsAt8: ScriptPart = {
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

export const markTurnAt5: ScriptPart = {
  file: "includes/mark-turn.lua",
  line: 5,
  text: `\
local function markTurn(turn, mark, count, first)
writeMark(turn.name, turn.done and 'T' or 't', (mark and mark.count or 0) + count, mark and mark.first or first)
end`,
};

export const expireAllAt4: ScriptPart = {
  file: "includes/expire-all.lua",
  line: 4,
  text: `\
local function expireAll(at, keys)
local text = string.format('%.0f', at)
for _, key in ipairs(keys or KEYS) do redis.call('PEXPIREAT', key, text) end
end`,
};

export const holderAt4: ScriptPart = {
  file: "includes/holder.lua",
  line: 4,
  text: `\
local function holderOf(field)
return (field or ''):match('^(%S+) (%d+) (%d+)$')
end`,
};

export const seekHoldAt7: ScriptPart = {
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

export const appendHoldAt10: ScriptPart = {
  file: "includes/append-hold.lua",
  line: 10,
  text: `\
local function heldReply(hold, s, reply)
return hold and { 'TOOK', hold.fence, s.epoch, redis.call('PTTL', KEYS[3]), reply } or reply
end
local function holdFor(request, s, refusal)
local stamped = not refusal and request.stampedAt
if stamped and math.abs(now() - stamped) > 30000 then return { 'CLOCK', now() } end
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

export const appendAt47: ScriptPart = {
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
if cut and (cut.to < s.base or cut.to > cut.next) then return { 'RANGE' } end
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
if asPlanned then s.rounds, total = s.rounds + request.rounds, total and total + (request.total or 0) end
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
local noted = (fresh > 0 or request.sets > 0) and noteKey(request, s, set)
if total then set('tokens', string.format('%.17g', total)); set('counter', counter) end
local firstSide = 2 * (count + 1)
for i = firstSide, firstSide + 2 * request.sets - 1 do fields[#fields + 1] = ARGV[i] end
inChunks('HSET', state, fields)
changeHold(hold, request.giveBack)
if not s.begun and s.known > 0 and fresh > 0 then redis.call('UNLINK', ids) end
if not total and s.tokens then redis.call('HDEL', state, 'tokens', 'counter') end
changeSide(state, firstSide + 2 * request.sets, firstRecord, request.bound)
if fresh > 0 then explainIds(s.begun and s.known or 0, fresh + (turn and not mark and 1 or 0), s.length == 0) end
if s.length == 0 and fresh > 0 or noted and s.length > 0 then keepKey(s, ids) end
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

export const clearSessionAt12: ScriptPart = {
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

export const readEpochAt12: ScriptPart = {
  file: "read-epoch.lua",
  line: 12,
  text: `\
local s = loadSession(KEYS[1], nil, nil, redis.pcall)
return gate(cjson.decode(ARGV[1]), s, 'owner') or { 'LIFE', s.epoch, s.key, s.dek, s.left and 1 or 0 }`,
};

export const readPageAt12: ScriptPart = {
  file: "read-page.lua",
  line: 12,
  text: `\
local s = loadSession(KEYS[3])
local refusal = gate(cjson.decode(ARGV[1]), s, s.left and 'owner read' or 'owner')
if refusal then return refusal end
local field = redis.call('HMGET', KEYS[3], 'epoch', 'rev', 'base', 'start', 'next', 'head', 'headCount', 'tokens', 'counter', 'owner', 'erased', 'sum', 'key', 'dek')
local records = redis.call('LRANGE', KEYS[1], ARGV[2], ARGV[3])
return { 'PAGE', field, records, redis.call('LLEN', KEYS[1]), redis.call('HLEN', KEYS[2]) }`,
};

export const readViewAt12: ScriptPart = {
  file: "read-view.lua",
  line: 12,
  text: `\
local s = loadSession(KEYS[3])
local refusal = gate(cjson.decode(ARGV[1]), s, s.left and 'owner read' or 'owner')
if refusal then return refusal end
local reply, found = view(), {}
for first = 2, #ARGV, 7000 do
for _, value in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, first, math.min(first + 6999, #ARGV)))) do
found[#found + 1] = value
end
end
return { 'VIEW', reply[1], reply[2], reply[3], reply[4], found }`,
};

export const appendScript = script([
  plainAppendAt19,
  plainClaimsAt7,
  plainAppendAt40,
  plainMarksAt9,
  plainAppendAt51,
  plainWritesAt7,
  countUsageAt7,
  plainWritesAt27,
  plainAppendAt53,
  numbersAt5,
  plainAppendAt56,
  viewAt7,
  plainAppendAt57,
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  sortOutAt8,
  sharedMarksAt8,
  readMarkAt6,
  storedTurnAt6,
  exceedsAt4,
  viewAt7,
  nowAt3,
  repeatedAppendAt16,
  asReadAt6,
  beginsRoundAt3,
  inChunksAt3,
  forgetAt8,
  logSumAt11,
  writeMarkAt8,
  truncateAt18,
  nameOwnerAt5,
  claimAt6,
  logFieldsAt6,
  noteKeyAt8,
  changeSideAt6,
  explainIdsAt8,
  markTurnAt5,
  countUsageAt7,
  expireAllAt4,
  holderAt4,
  seekHoldAt7,
  appendHoldAt10,
  appendAt47,
]);

export const clearSessionScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  clearSessionAt12,
]);

export const readEpochScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  readEpochAt12,
]);

export const readPageScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  readPageAt12,
]);

export const readViewScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  viewAt7,
  readViewAt12,
]);

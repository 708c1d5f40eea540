// Written by `npm run lua` from the .lua files of this folder. Change those.

import { script, type ScriptPart } from "../../redis/script.js";

export const threadAt6: ScriptPart = {
  file: "includes/thread.lua",
  line: 6,
  text: `\
local items, checkpoints, order = KEYS[1], KEYS[2], KEYS[3]
local call = redis.call
local isErased = false

local function loadThread()
local field = call('HMGET', checkpoints, 'token', 'base', 'next', 'count', 'erased')
isErased = field[5] and true or false
if isErased then return nil end
local length, members = call('LLEN', items), call('ZCARD', order)
if length == 0 and members == 0 and call('EXISTS', checkpoints) == 0 then return nil end
local thread = { token = field[1], base = tonumber(field[2]), next = tonumber(field[3]), count = tonumber(field[4]) }
local isWhole = thread.token and thread.base and thread.next and thread.count
thread.isDamaged = not isWhole or length ~= thread.next - thread.base or members ~= thread.count
return thread
end`,
};

export const threadGateAt6: ScriptPart = {
  file: "includes/thread-gate.lua",
  line: 6,
  text: `\
local function refuses(thread, expected)
if thread and thread.isDamaged then return { 'DAMAGED' } end
if expected and expected ~= (thread and thread.token or '') then return { 'STALE' } end
return nil
end`,
};

export const recordsAt5: ScriptPart = {
  file: "includes/records.lua",
  line: 5,
  text: `\
local recordPattern = '^(%d+)|([^|]*)|(%d*)|([^%z]*)%z'

local function writesOf(stored)
return (stored or ''):gmatch('[^\\n]+')
end`,
};

export const spansAt8: ScriptPart = {
  file: "includes/spans.lua",
  line: 8,
  text: `\
local function addSpans(thread, ranges, base, spans, seen)
for group, plus, first, last in ranges:gmatch('(@?)(%+?)(%d+)%-?(%d*)') do
local start = plus == '+' and base or 0
local from = first + start
local to = last ~= '' and last + start or from
if from < thread.base or to < from or to >= thread.next then return false end
spans[#spans + 1] = { from, to }
for at = from, group == '@' and to or from - 1 do
if not seen[at] then
seen[at] = true
local text = call('LINDEX', items, at - thread.base)
if not text:find('^[%d,%-]+$') or not addSpans(thread, text, 0, spans, seen) then return false end
end
end
end
return true
end

local function merged(spans)
table.sort(spans, function(a, b) return a[1] < b[1] end)
local list, last = {}, nil
for _, span in ipairs(spans) do
if last and span[1] <= last[2] + 1 then
if span[2] > last[2] then last[2] = span[2] end
else
last = { span[1], span[2] }
list[#list + 1] = last
end
end
return list
end`,
};

export const recordSpansAt7: ScriptPart = {
  file: "includes/record-spans.lua",
  line: 7,
  text: `\
local function addSpansOf(thread, record, writes, spans, seen)
local base, ranges = (record or ''):match(recordPattern)
if base and not addSpans(thread, ranges, base + 0, spans, seen) then return false end
for line in writesOf(writes) do
base, ranges = line:match(recordPattern)
if base and not addSpans(thread, ranges, base + 0, spans, seen) then return false end
end
return true
end`,
};

export const readSpansAt5: ScriptPart = {
  file: "includes/read-spans.lua",
  line: 5,
  text: `\
local function readSpans(thread, spans)
local reply = {}
for _, span in ipairs(merged(spans)) do
reply[#reply + 1] = span[1]
reply[#reply + 1] = call('LRANGE', items, span[1] - thread.base, span[2] - thread.base)
end
return reply
end`,
};

export const pagesAt8: ScriptPart = {
  file: "includes/pages.lua",
  line: 8,
  text: `\
local function readPage(thread, members, withItems)
local page, spans, seen = {}, {}, {}
for _, member in ipairs(members) do
local record, writes = unpack(call('HMGET', checkpoints, 'c' .. member, 'w' .. member))
if member ~= '' and (record or call('ZSCORE', order, member)) then
page[#page + 1] = member
page[#page + 1] = record or ''
page[#page + 1] = writes or ''
if withItems then addSpansOf(thread, record, writes, spans, seen) end
end
end
return { 'OK', page, readSpans(thread, spans) }
end`,
};

export const listCheckpointsAt12: ScriptPart = {
  file: "list-checkpoints.lua",
  line: 12,
  text: `\
local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
if not thread then return { 'NONE' } end
local members = call('ZREVRANGEBYLEX', order, ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
return readPage(thread, members, ARGV[4] == 'items')`,
};

export const membersAt7: ScriptPart = {
  file: "includes/members.lua",
  line: 7,
  text: `\
local function newestOf(ns, skip)
return call('ZREVRANGEBYLEX', order, '(' .. ns .. '\\1', '[' .. ns .. '\\0', 'LIMIT', skip or 0, 1)[1]
end

local function oldestRoot()
return (call('ZREVRANGE', order, -2, -2)[1] or ''):match('^%z.*$') or ''
end`,
};

export const keptRecordsAt10: ScriptPart = {
  file: "includes/kept-records.lua",
  line: 10,
  text: `\
local function isBefore(a, b)
for i = 1, #b do
local x, y = a:byte(i) or -1, b:byte(i)
if x ~= y then return x < y end
end
return false
end

local function loadRecords()
local records, fields = {}, call('HGETALL', checkpoints)
for i = 1, #fields, 2 do
local kind, member, ns, id = fields[i]:match('^([cw])(([^%z]*)%z(.*))$')
if kind then
local record = records[member] or { ns = ns, id = id }
record[kind == 'c' and 'checkpoint' or 'writes'] = fields[i + 1]
records[member] = record
end
end
return records
end

local function keepNewest(records, keep)
local oldest = newestOf('', keep - 1)
if not oldest then return false end
local newest, id = {}, oldest:sub(2)
for member, record in pairs(records) do
local ns = record.ns
if ns ~= '' and not newest[ns] and not ns:find(':', 1, true) then newest[ns] = newestOf(ns) end
record.stays = not isBefore(record.id, id) or newest[ns] == member
end
return true
end

local function keepAncestors(records, most)
local kept = {}
for _, record in pairs(records) do
if record.stays and record.checkpoint then kept[#kept + 1] = record end
end
for _, record in ipairs(kept) do
local _, _, needs, parent = record.checkpoint:match(recordPattern)
local above = records[record.ns .. '\\0' .. (parent or '')]
for _ = 1, math.min(tonumber(needs or '') or 0, most) do
if not (above and above.checkpoint) then break end
above.stays = true
_, _, _, parent = above.checkpoint:match(recordPattern)
above = records[record.ns .. '\\0' .. (parent or '')]
end
end
end`,
};

export const nextTokenAt7: ScriptPart = {
  file: "includes/next-token.lua",
  line: 7,
  text: `\
local function nextToken(thread, seed)
thread.token = redis.sha1hex(thread.token .. seed):sub(1, 22)
return thread.token
end`,
};

export const dropItemsAt8: ScriptPart = {
  file: "includes/drop-items.lua",
  line: 8,
  text: `\
local function dropItems(thread, kept, lost, seed)
local emptied, at = {}, 1
kept, lost = merged(kept), merged(lost)
local front = math.min(kept[1] and kept[1][1] or thread.next - 1, thread.next - 1)
for _, span in ipairs(lost) do
local from = math.max(span[1], front)
while from <= span[2] do
while kept[at] and kept[at][2] < from do at = at + 1 end
local stays = kept[at] or { thread.next, thread.next }
local to = math.min(span[2], stays[1] - 1)
if from <= to then
emptied[#emptied + 1] = from
emptied[#emptied + 1] = to
for position = from, to do call('LSET', items, position - thread.base, '') end
end
from = math.max(to, stays[2]) + 1
end
end
if front > thread.base then call('LTRIM', items, front - thread.base, -1) end
if front > thread.base or #emptied > 0 then
thread.base = front
call('HSET', checkpoints, 'base', front, 'token', nextToken(thread, seed))
end
return emptied
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

export const pruneRecordsAt10: ScriptPart = {
  file: "includes/prune-records.lua",
  line: 10,
  text: `\
local function prune(thread, keep, seed)
local records = loadRecords()
if not keepNewest(records, keep) then return {} end
keepAncestors(records, thread.count)
local kept, lost, keptSeen, lostSeen, fields, members = {}, {}, {}, {}, {}, {}
for member, record in pairs(records) do
if record.stays then
if not addSpansOf(thread, record.checkpoint, record.writes, kept, keptSeen) then return {} end
else
addSpansOf(thread, record.checkpoint, record.writes, lost, lostSeen)
if record.checkpoint then
fields[#fields + 1] = 'c' .. member
members[#members + 1] = member
end
if record.writes then fields[#fields + 1] = 'w' .. member end
end
end
if #fields == 0 then return {} end
inChunks('HDEL', checkpoints, fields)
inChunks('ZREM', order, members)
thread.count = thread.count - #members
call('HSET', checkpoints, 'count', thread.count)
return dropItems(thread, kept, lost, seed)
end`,
};

export const pruneThreadAt12: ScriptPart = {
  file: "prune-thread.lua",
  line: 12,
  text: `\
local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
if not thread then return { 'NONE' } end
local count = thread.count
prune(thread, tonumber(ARGV[1]), ARGV[2])
return { 'OK', count - thread.count }`,
};

export const sameRecordAt6: ScriptPart = {
  file: "includes/same-record.lua",
  line: 6,
  text: `\
local function baseOfSame(thread, record, tail, first)
local base, from = record:match('^(%d+)|()')
if not base or record:sub(from) ~= tail then return nil end
local at, count = base - thread.base, #ARGV - first + 1
if at < 0 then return nil end
local stored = count > 0 and call('LRANGE', items, at, at + count - 1) or {}
for i = 1, count do
if stored[i] ~= ARGV[first + i - 1] then return nil end
end
return tonumber(base)
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

export const expireAllAt4: ScriptPart = {
  file: "includes/expire-all.lua",
  line: 4,
  text: `\
local function expireAll(at, keys)
local text = string.format('%.0f', at)
for _, key in ipairs(keys or KEYS) do redis.call('PEXPIREAT', key, text) end
end`,
};

export const writeRecordAt11: ScriptPart = {
  file: "includes/write-record.lua",
  line: 11,
  text: `\
local function begin(token)
call('HSET', checkpoints, 'token', token, 'base', 0, 'next', 1, 'count', 1)
call('RPUSH', items, '')
call('ZADD', order, 0, '')
return { token = token, base = 0, next = 1, count = 1 }
end

local function pushItems(thread, first, seed)
if #ARGV < first then return end
thread.next = thread.next + #ARGV - first + 1
call('HSET', checkpoints, 'next', thread.next, 'token', nextToken(thread, seed))
inChunks('RPUSH', items, ARGV, first)
end

local function nameOwner(owner)
if owner then call('HSETNX', checkpoints, 'owner', owner) end
end

local function expireThread(ttl)
if ttl then expireAll(now() + ttl) end
end`,
};

export const putCheckpointAt18: ScriptPart = {
  file: "put-checkpoint.lua",
  line: 18,
  text: `\
local request, member, tail, field = cjson.decode(ARGV[1]), ARGV[2], ARGV[3], 'c' .. ARGV[2]
local thread = loadThread()
if isErased then return { 'ERASED' } end
local refusal = refuses(thread)
if refusal then return refusal end
local stored = thread and call('HGET', checkpoints, field)
local base = stored and baseOfSame(thread, stored, tail, 4)
if base then
expireThread(request.ttl)
return { 'OK', base, thread.token, thread.token, thread.base, {} }
end
refusal = refuses(thread, request.expected)
if refusal then return refusal end
thread = thread or begin(request.token)
nameOwner(request.owner)
local before = thread.token
base = thread.next
call('HSET', checkpoints, field, string.format('%.0f', base) .. '|' .. tail)
if call('ZADD', order, 0, member) == 1 then thread.count = thread.count + 1 end
call('HSET', checkpoints, 'count', thread.count)
pushItems(thread, 4, request.token)
local emptied = {}
if request.keep and call('ZLEXCOUNT', order, '[\\0', '(\\1') > request.most then
emptied = prune(thread, request.keep, request.token)
end
expireThread(request.ttl)
return { 'OK', base, before, thread.token, thread.base, emptied }`,
};

export const putWritesAt18: ScriptPart = {
  file: "put-writes.lua",
  line: 18,
  text: `\
local request, tail, field = cjson.decode(ARGV[1]), ARGV[3], 'w' .. ARGV[2]
local thread = loadThread()
if isErased then return { 'ERASED' } end
local refusal = refuses(thread)
if refusal then return refusal end
local stored = thread and call('HGET', checkpoints, field)
local base, before
for record in writesOf(stored) do base = base or baseOfSame(thread, record, tail, 4) end
if not base then
refusal = refuses(thread, request.expected)
if refusal then return refusal end
thread = thread or begin(request.token)
nameOwner(request.owner)
before, base = thread.token, thread.next
local record = string.format('%.0f', base) .. '|' .. tail
call('HSET', checkpoints, field, stored and stored .. '\\n' .. record or record)
pushItems(thread, 4, request.token)
end
expireThread(request.ttl)
return { 'OK', base, before or thread.token, thread.token, thread.base, {} }`,
};

export const readAncestorsAt13: ScriptPart = {
  file: "read-ancestors.lua",
  line: 13,
  text: `\
local ns, id, count = ARGV[1], ARGV[2], tonumber(ARGV[3])
local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
local member = id ~= '' and ns .. '\\0' .. id or newestOf(ns)
local record = thread and member and call('HGET', checkpoints, 'c' .. member)
if not record then return { 'NONE' } end
local page = {}
while record and #page < 3 * count do
local _, _, _, parent = record:match(recordPattern)
if (parent or '') == '' then break end
member = ns .. '\\0' .. parent
local writes
record, writes = unpack(call('HMGET', checkpoints, 'c' .. member, 'w' .. member))
if record then
page[#page + 1] = member
page[#page + 1] = record
page[#page + 1] = writes or ''
end
end
return { 'OK', page, {} }`,
};

export const readCheckpointAt18: ScriptPart = {
  file: "read-checkpoint.lua",
  line: 18,
  text: `\
local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
if not thread then return { 'NONE', '' } end
if ARGV[1] ~= '' then expireThread(ARGV[1]) end
local ns, member, record, writes = ARGV[2], nil, nil, nil
for i = 3, math.max(3, #ARGV) do
local id = ARGV[i] or ''
if not record and not writes then
member = id == '' and newestOf(ns) or ns .. '\\0' .. id
record, writes = unpack(call('HMGET', checkpoints, 'c' .. member, 'w' .. member))
if not record and call('ZSCORE', order, member) then return { 'DAMAGED' } end
end
end
if not record and not writes then return { 'NONE', thread.token, oldestRoot() } end
local spans, seen = {}, {}
addSpansOf(thread, record, writes, spans, seen)
local oldest = not record and oldestRoot() or nil
return { 'OK', thread.token, member, record or false, writes or '', readSpans(thread, spans), oldest }`,
};

export const readCheckpointsAt12: ScriptPart = {
  file: "read-checkpoints.lua",
  line: 12,
  text: `\
local thread = loadThread()
local refusal = refuses(thread)
if refusal then return refusal end
if not thread then return { 'NONE' } end
return readPage(thread, ARGV, true)`,
};

export const listCheckpointsScript = script([
  threadAt6,
  threadGateAt6,
  recordsAt5,
  spansAt8,
  recordSpansAt7,
  readSpansAt5,
  pagesAt8,
  listCheckpointsAt12,
]);

export const pruneThreadScript = script([
  threadAt6,
  threadGateAt6,
  membersAt7,
  recordsAt5,
  keptRecordsAt10,
  spansAt8,
  recordSpansAt7,
  nextTokenAt7,
  dropItemsAt8,
  inChunksAt3,
  pruneRecordsAt10,
  pruneThreadAt12,
]);

export const putCheckpointScript = script([
  threadAt6,
  threadGateAt6,
  sameRecordAt6,
  nextTokenAt7,
  nowAt3,
  inChunksAt3,
  expireAllAt4,
  writeRecordAt11,
  membersAt7,
  recordsAt5,
  keptRecordsAt10,
  spansAt8,
  recordSpansAt7,
  dropItemsAt8,
  pruneRecordsAt10,
  putCheckpointAt18,
]);

export const putWritesScript = script([
  threadAt6,
  threadGateAt6,
  recordsAt5,
  sameRecordAt6,
  nextTokenAt7,
  nowAt3,
  inChunksAt3,
  expireAllAt4,
  writeRecordAt11,
  putWritesAt18,
]);

export const readAncestorsScript = script([
  threadAt6,
  threadGateAt6,
  membersAt7,
  recordsAt5,
  readAncestorsAt13,
]);

export const readCheckpointScript = script([
  threadAt6,
  threadGateAt6,
  membersAt7,
  recordsAt5,
  spansAt8,
  recordSpansAt7,
  readSpansAt5,
  nextTokenAt7,
  nowAt3,
  inChunksAt3,
  expireAllAt4,
  writeRecordAt11,
  readCheckpointAt18,
]);

export const readCheckpointsScript = script([
  threadAt6,
  threadGateAt6,
  recordsAt5,
  spansAt8,
  recordSpansAt7,
  readSpansAt5,
  pagesAt8,
  readCheckpointsAt12,
]);

// Written by `npm run lua` from the .lua files of this folder. Change those.

import { script, type ScriptPart } from "../script.js";
import {
  nowAt3,
  expireAllAt4,
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  asReadAt6,
  noteKeyAt8,
  inChunksAt3,
  forgetAt8,
  sharedMarksAt8,
  writeMarkAt8,
  explainIdsAt8,
  readMarkAt6,
  holderAt4,
  beginsRoundAt3,
  storedTurnAt6,
  logSumAt11,
  truncateAt18,
  seekHoldAt7,
  viewAt7,
  nameOwnerAt5,
  claimAt6,
  changeSideAt6,
} from "./scripts.js";

export const itemsAt12: ScriptPart = {
  file: "includes/items.lua",
  line: 12,
  text: `\
local values, names, expiry = KEYS[1], KEYS[2], KEYS[3]
local call = redis.call
local time, isGone = now(), false

local function loadStore()
local count, named, mark = call('HLEN', values), call('ZCARD', names), call('ZSCORE', expiry, '')
return count, count ~= named or (count > 0) ~= (mark and true or false)
end

local function isLive(score)
return not score or tonumber(score) > time
end

local function eachLive(lower, upper, count, visit)
local found
repeat
found = call('ZRANGEBYLEX', names, lower, upper, 'LIMIT', 0, count)
local scores = #found > 0 and call('ZMSCORE', expiry, unpack(found))
for index, name in ipairs(found) do
if isLive(scores[index]) and visit(name) == false then return end
end
lower = '(' .. (found[#found] or '')
until #found < count
end

local function firstLive(lower, upper)
local first
eachLive(lower, upper, 4, function(name)
first = name
return false
end)
return first
end

local function removeItems(list)
if isGone or #list == 0 then return end
local there = 0
for _, score in ipairs(call('ZMSCORE', names, unpack(list))) do there = there + (score and 1 or 0) end
isGone = there == call('ZCARD', names)
if isGone then return call('UNLINK', unpack(KEYS)) end
call('HDEL', values, unpack(list))
call('ZREM', names, unpack(list))
call('ZREM', expiry, unpack(list))
end

local function expireStore()
local count = isGone and 0 or call('HLEN', values)
if count == 0 then return end
if call('ZCARD', expiry) > count then
expireAll(tonumber(call('ZREVRANGE', expiry, 1, 1, 'WITHSCORES')[2]))
else
for _, key in ipairs(KEYS) do call('PERSIST', key) end
end
end`,
};

export const clearItemsAt11: ScriptPart = {
  file: "clear-items.lua",
  line: 11,
  text: `\
local count, isDamaged = loadStore()
if ARGV[1] == '-' then
call('UNLINK', unpack(KEYS))
return { 'OK', count }
end
if isDamaged then return { 'DAMAGED' } end
local found = call('ZRANGEBYLEX', names, ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
if #found > 0 then
removeItems(found)
expireStore()
end
return { 'OK', #found }`,
};

export const rememberReductionAt6: ScriptPart = {
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

export const readDiscardedAt7: ScriptPart = {
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

export const writeDiscardedAt6: ScriptPart = {
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

export const discardIdsAt13: ScriptPart = {
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

export const rememberTurnsAt8: ScriptPart = {
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

export const commitReductionAt21: ScriptPart = {
  file: "commit-reduction.lua",
  line: 21,
  text: `\
local log, state = KEYS[1], KEYS[3]
local request, s = cjson.decode(ARGV[1]), loadSession(state, log, KEYS[2])
local function repeated() return s.rev == request.newRev and { 'COMMITTED', s.owner or '' } end
local refusal = gate(request, s, nil, repeated)
if refusal then return refusal end
if s.next < request.next or not isAsRead(s, request) then return { 'STALE' } end
if request.start < s.base or request.start > s.next then return { 'RANGE' } end
local total = request.counter and request.tokens
if total and s.next ~= request.next then
local known = s.tokens and s.counter == request.counter and request.tokensRead
total = known and total + (s.tokens - request.tokensRead)
end
local time = now()
rememberReduction(time, s, request, total)
redis.call('HSET', state, 'start', request.start, 'next', s.next, 'rev', request.newRev)
redis.call('HSET', state, 'head', ARGV[2], 'headCount', request.headCount, 'updated', time)
local noted = noteKey(request, s, function(name, value) redis.call('HSET', state, name, value) end)
if noted and s.length > 0 then keepKey(s, KEYS[2]) end
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

export const dropEntriesAt9: ScriptPart = {
  file: "drop-entries.lua",
  line: 9,
  text: `\
local time = redis.call('TIME')
local latest = ARGV[1] == '0' and math.huge or time[1] * 1000000 + time[2] - ARGV[1] * 1000
for i = 2, #ARGV, 2 do
local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]))
if score and score == tonumber(ARGV[i + 1]) and score <= latest then redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return 'OK'`,
};

export const enterSessionAt12: ScriptPart = {
  file: "enter-session.lua",
  line: 12,
  text: `\
local list, session, mode, score, life = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local time, left = redis.call('TIME'), redis.call('PTTL', list)
local micros = string.format('%.0f', time[1] * 1000000 + time[2])
redis.call('ZADD', list, mode, score == '' and micros or score, session)
if life == '' then
redis.call('PERSIST', list)
elseif life ~= '0' and left < 1.2 * life and (left ~= -1 or redis.call('ZCOUNT', list, '-inf', '+inf') == 1) then
redis.call('PEXPIREAT', list, string.format('%.0f', micros / 1000 + 1.2 * life))
end
return micros`,
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

export const eraseRunAt14: ScriptPart = {
  file: "erase-run.lua",
  line: 14,
  text: `\
local request, last = cjson.decode(ARGV[1]), lastRun(KEYS[1])
local isRun = last ~= nil and not last.isErased
if isRun then
local owner = last.meta and cjson.decode(last.meta).owner
local isOwn = not request.owner or owner == request.owner or not owner and request.isNamelessOwn
if not isOwn or not request.guardMs and not last.ending then return { 'KEPT' } end
end
if last and last.isErased and not request.guardMs then return { 'GONE', '0' } end
local left = last and last.isErased and redis.call('PTTL', KEYS[1]) or 0
if not request.guardMs then
redis.call('UNLINK', KEYS[1])
return { 'GONE', isRun and '1' or '0' }
end

local at = now() + math.max(left, request.guardMs)
expireAll(at)
local id = string.format('%.0f-0', math.max(now(), last and last.at + 1 or 0))
redis.call('XADD', KEYS[1], 'MAXLEN', 1, id, 'x', '')
expireAll(at)
return { 'GONE', isRun and '1' or '0' }`,
};

export const keepFieldsAt7: ScriptPart = {
  file: "includes/keep-fields.lua",
  line: 7,
  text: `\
local function keepFields(key, at, ...)
local fields, kept, gone = { ... }, {}, {}
for i = 1, #fields, 2 do kept[fields[i]] = true end
local names = redis.pcall('HKEYS', key)
for _, name in ipairs(names) do
if not kept[name] then gone[#gone + 1] = name end
end
local text = at and string.format('%.0f', at)
if at then redis.call('PEXPIREAT', key, text) end
if names.err then redis.call('UNLINK', key) end
redis.call('HSET', key, ...)
inChunks('HDEL', key, gone)
if at then redis.call('PEXPIREAT', key, text) end
end`,
};

export const eraseSessionAt19: ScriptPart = {
  file: "erase-session.lua",
  line: 19,
  text: `\
local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[3], nil, nil, redis.pcall)
local refusal = gate(request, s, 'owner')
if refusal then return refusal end
local existed = s.epoch ~= '' or s.left ~= nil
if request.strict and existed and not s.owner and not s.left then return { 'KEPT' } end
local left = s.erased and redis.call('PTTL', KEYS[3]) or 0
local isAgain = s.erased and s.erased:sub(-#request.call) == request.call
local call = (existed or isAgain) and ' ' .. request.call or ''
local owner = s.owner or not request.owner and redis.call('HGET', KEYS[3], 'erasedOwner') or ''
local named = owner ~= '' and not request.owner and { 'erasedOwner', owner } or {}
redis.call('UNLINK', KEYS[1], KEYS[2])
keepFields(KEYS[3], now() + math.max(left, request.guardMs), 'next', 1, 'erased', now() .. call, unpack(named))
return { 'GONE', owner, (existed or isAgain) and '1' or s.erased and 'again' or '0' }`,
};

export const eraseSteersAt12: ScriptPart = {
  file: "erase-steers.lua",
  line: 12,
  text: `\
if ARGV[1] == '' then
redis.call('UNLINK', KEYS[1])
else

redis.call('LTRIM', KEYS[1], 0, 0)
redis.call('RPUSH', KEYS[1], '-9007199254740991')
redis.call('LTRIM', KEYS[1], -1, -1)
expireAll(now() + ARGV[1])
end
return { 'GONE' }`,
};

export const eraseThreadAt15: ScriptPart = {
  file: "erase-thread.lua",
  line: 15,
  text: `\
local request, key = cjson.decode(ARGV[1]), KEYS[2] or KEYS[1]
local found = redis.pcall('HMGET', key, 'owner', 'erased')
local owner, erased = found[1] or nil, found[2] or nil
local isThread = not erased and redis.call('EXISTS', unpack(KEYS)) > 0
local isOwn = not request.owner or owner == request.owner or not owner and request.isNamelessOwn
if isThread and not isOwn then return { 'KEPT' } end
if isThread and #KEYS == 1 then return { 'WHOLE' } end
if erased and not request.guardMs then return { 'GONE', '0' } end
local left = erased and redis.call('PTTL', key) or 0
if KEYS[2] then redis.call('UNLINK', KEYS[1], KEYS[3]) end
if request.guardMs then
keepFields(key, now() + math.max(left, request.guardMs), 'erased', string.format('%.0f', now()))
else
redis.call('UNLINK', key)
end
return { 'GONE', isThread and '1' or '0' }`,
};

export const extendExpiryAt14: ScriptPart = {
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

export const adoptDiscardedAt8: ScriptPart = {
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

export const keepAllAt3: ScriptPart = {
  file: "includes/keep-all.lua",
  line: 3,
  text: `\
local function keepAll(keys)
for _, key in ipairs(keys or KEYS) do redis.call('PERSIST', key) end
end`,
};

export const finishCopyAt27: ScriptPart = {
  file: "finish-copy.lua",
  line: 27,
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
local named = {}
for i = 3, #ARGV do
fields[#fields + 1] = ARGV[i]
if i % 2 == 1 then named[ARGV[i]] = ARGV[i + 1] end
end
inChunks('HSET', state, fields)
if hasRecords then
redis.call('RENAME', KEYS[4], log)
redis.call('RENAME', KEYS[5], ids)
redis.call('UNLINK', KEYS[6])
end
if named.owner and hasRecords then redis.call('HSET', ids, '[owner]', named.owner) end
if named.key and hasRecords then keepKey(named, ids) end
if hasLog then
explainIds(redis.call('HLEN', ids), #request.known / 2 + #ARGV[2] / 32, not hasRecords)
for i = 1, #request.known, 2 do redis.call('HSETNX', ids, request.known[i], request.known[i + 1]) end
adoptDiscarded(ARGV[2])
for _, mark in ipairs(request.turns) do
if not readMark(mark[1]) then writeMark(mark[1], mark[2] and 'T' or 't', mark[3], mark[4]) end
end
end
local made = hasRecords and { log, ids, state } or KEYS
keepAll(made)
if request.ttl then expireAll(time + request.ttl, made) end
if request.expiresAt then expireAll(request.expiresAt, made) end
return { 'FORKED' }`,
};

export const giveBackHoldAt14: ScriptPart = {
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

export const importItemAt11: ScriptPart = {
  file: "import-item.lua",
  line: 11,
  text: `\
local name, record, at = ARGV[1], ARGV[2], ARGV[3]
local _, isDamaged = loadStore()
if isDamaged then return { 'DAMAGED' } end
local stored = isLive(call('ZSCORE', expiry, name)) and call('HGET', values, name)
if stored then return { 'STORED', stored } end
call('HSET', values, name, record)
call('ZADD', names, 0, name)
call('ZADD', expiry, '+inf', '')
if at == '' then
call('ZREM', expiry, name)
else
call('ZADD', expiry, at, name)
end
expireStore()
return { 'OK' }`,
};

export const importThreadAt14: ScriptPart = {
  file: "import-thread.lua",
  line: 14,
  text: `\
local items, checkpoints, order = KEYS[1], KEYS[2], KEYS[3]
local call = redis.call
local request = cjson.decode(ARGV[1])
local field = call('HMGET', checkpoints, 'token', 'count', 'erased')
if field[3] then return { 'ERASED' } end
if call('EXISTS', items, checkpoints, order) > 0 then
local isCopy = field[1] == request.token and tonumber(field[2]) == request.count
local isWhole = call('LLEN', items) == request.items and call('ZCARD', order) == request.count
return { isCopy and isWhole and call('HLEN', checkpoints) == request.fields / 2 and 'SAME' or 'EXISTS' }
end
local lastItem = 1 + request.items
local lastField = lastItem + request.fields
inChunks('HSET', checkpoints, ARGV, lastItem + 1, lastField)
inChunks('RPUSH', items, ARGV, 2, lastItem)
inChunks('ZADD', order, ARGV, lastField + 1)
if request.ttl then expireAll(now() + request.ttl) end
return { 'OK' }`,
};

export const copyKeyAt3: ScriptPart = {
  file: "includes/copy-key.lua",
  line: 3,
  text: `\
local function copyKey(request, state)
local stored = redis.call('HMGET', state, 'key', 'dek')
local name = request.keys and request.keys.name
return stored[1] and stored[1]:match('^%S+') ~= name and { 'KEY', stored[1] .. ' ' .. stored[2] } or nil
end`,
};

export const openCopyAt13: ScriptPart = {
  file: "open-copy.lua",
  line: 13,
  text: `\
local request = cjson.decode(ARGV[1])
local refusal = gate({}, loadSession(KEYS[3], nil, nil, redis.pcall), 'erased')
if refusal then return refusal end
if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then return { 'EXISTS' } end
local other = copyKey(request, KEYS[4])
if other then return other end
return { 'NEXT', redis.call('HGET', KEYS[4], 'next') or '' }`,
};

export const readAllAt11: ScriptPart = {
  file: "read-all.lua",
  line: 11,
  text: `\
local s = loadSession(KEYS[3], nil, nil, redis.pcall)
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner read')
if refusal then return refusal end
local records = redis.call('LRANGE', KEYS[1], ARGV[2], ARGV[3])
local field = s.isHash and redis.call('HMGET', KEYS[3], 'epoch', 'rev', 'base', 'next') or {}
return { 'LOG', records, { field[1] or '', field[2] or '', field[3] or '', field[4] or '' } }`,
};

export const readCopyAt15: ScriptPart = {
  file: "read-copy.lua",
  line: 15,
  text: `\
local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner read')
if refusal then return refusal end

if s.erased or (s.epoch == '' and s.length == 0 and (s.known == 0 or not s.damaged)) then return { 'NONE' } end
local left = redis.call('PTTL', KEYS[3])
local expires = left >= 0 and string.format('%.0f', now() + left) or ''
local turns, marks = redis.call('HGET', KEYS[3], 'turns') or '', {}
for at = 1, #turns, 14 do
marks[#marks + 1] = markText(readMark(turns:sub(at, at + (14 - 1))))
end
return { 'STATE', s.epoch, s.length, s.damaged and 1 or 0, expires, redis.call('HGETALL', KEYS[3]), marks, s.key }`,
};

export const readMarksAt13: ScriptPart = {
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

export const readRoundsAt13: ScriptPart = {
  file: "read-rounds.lua",
  line: 13,
  text: `\
local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner read')
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

export const readSideAt11: ScriptPart = {
  file: "read-side.lua",
  line: 11,
  text: `\
local refusal = gate(cjson.decode(ARGV[1]), loadSession(KEYS[1]), 'owner read')
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

export const readStatsAt14: ScriptPart = {
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
'STATS', s.epoch, s.length, s.rounds, s.headCount + math.min(next - s.start, s.length),
s.tokens and string.format('%.17g', s.tokens) or '',
s.counter, whole and 1 or 0, field[1] or '0', field[2] or '', field[3] or '', expires, s.damaged and 1 or 0
}`,
};

export const readTogetherAt11: ScriptPart = {
  file: "read-together.lua",
  line: 11,
  text: `\
local replies = {}
for i, command in ipairs(cjson.decode(ARGV[1])) do replies[i] = redis.call(unpack(command)) end
return replies`,
};

export const readTurnAt12: ScriptPart = {
  file: "read-turn.lua",
  line: 12,
  text: `\
local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner read')
if refusal then return refusal end
local reply = storedTurn(s, { name = ARGV[2], stored = -1 })
return reply[1] == 'TURN' and reply or { 'UNREADABLE' }`,
};

export const readWindowAt14: ScriptPart = {
  file: "read-window.lua",
  line: 14,
  text: `\
local s = loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner read')
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

export const mendAt9: ScriptPart = {
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
if isBeyond then
redis.call('HDEL', state, 'head', 'headCount')
start = base
end
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

export const restoreTurnsAt8: ScriptPart = {
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

export const restoreDiscardedAt9: ScriptPart = {
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

export const rebuildAt27: ScriptPart = {
  file: "rebuild.lua",
  line: 27,
  text: `\
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, length = cjson.decode(ARGV[1]), redis.call('LLEN', log)
local s = loadSession(state, nil, nil, redis.pcall)
local function repeated() return s.rev == request.newRev and { 'REBUILT', s.owner or '' } end
local refusal = gate(request, s, 'erased owner key', repeated)
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
return { 'REBUILT', '' }
end
if request.fields[1] == '' then redis.call('HSET', state, 'epoch', request.newEpoch) end
redis.call('HSET', state, 'rev', request.newRev, 'cut', request.newRev, 'updated', now())
local sum = newSum(request.sum, request.newRev .. (s.sum or '') .. table.concat(redis.call('TIME'), ' '))
redis.call('HSET', state, 'sum', sumText(sum))
if s.key ~= '' then redis.call('HSET', state, 'key', s.key, 'dek', s.dek) end
local owner = s.owner or request.owner
if owner then redis.call('HSETNX', state, 'owner', owner) end

keepFields(ids, nil, '', '')
local base = mend(length, request.rounds)
if length > 0 then explainIds(0, length + #ARGV / 3, true) end
if length > 0 and owner then redis.call('HSET', ids, '[owner]', owner) end
if length > 0 then keepKey(s, ids) end
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
redis.call('HDEL', ids, '')
return { 'REBUILT', redis.call('HGET', state, 'owner') or '' }`,
};

export const relabelSessionAt15: ScriptPart = {
  file: "relabel-session.lua",
  line: 15,
  text: `\
local state, request, s = KEYS[2], cjson.decode(ARGV[1]), loadSession(KEYS[2])
local refusal = gate(request, s, 'erased key')
if refusal then return refusal end
if s.epoch == '' then return { 'NONE' } end
if s.label == request.newVersion then return { 'CHANGED' } end
if (s.label or '') ~= request.version then return { 'STALE' } end
redis.call('HSET', state, 'label', request.newVersion)
local noted = noteKey(request, s, function(name, value) redis.call('HSET', state, name, value) end)
if noted and s.begun then keepKey(s, KEYS[1]) end
for i, name in ipairs({ 'title', 'metadata' }) do
if ARGV[2 * i] == '1' then
redis.call('HSET', state, name, ARGV[2 * i + 1])
else
redis.call('HDEL', state, name)
end
end
return { 'CHANGED' }`,
};

export const releaseLeaseAt9: ScriptPart = {
  file: "release-lease.lua",
  line: 9,
  text: `\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return { 'NOT_HELD' } end
redis.call('UNLINK', KEYS[1])
return { 'RELEASED' }`,
};

export const renewHoldAt14: ScriptPart = {
  file: "renew-hold.lua",
  line: 14,
  text: `\
local holder, _, fence = holderOf(redis.call('HGET', KEYS[1], 'holder'))
if holder ~= ARGV[1] then return { 'LOST' } end
redis.call('HSET', KEYS[1], 'holder', string.format('%s %.0f %s', holder, now() + ARGV[2], fence))
return { 'HELD', redis.call('PTTL', KEYS[1]) }`,
};

export const restartSessionAt15: ScriptPart = {
  file: "restart-session.lua",
  line: 15,
  text: `\
local state, request = KEYS[3], cjson.decode(ARGV[1])
local s = loadSession(state)
local function repeated() return s.epoch == request.newEpoch and { 'CLEARED', '' } end
local refusal = gate(request, s, 'erased owner epoch fence', repeated)
if refusal then return refusal end
local field = redis.call('HMGET', state, 'fence', 'holder', 'waiters')
local epoch, at = request.newEpoch, string.format('%.0f', now())
local kept = { 'epoch', epoch, 'rev', epoch, 'created', at, 'updated', at }
for i, name in ipairs({ 'fence', 'holder', 'waiters' }) do
if field[i] then kept[#kept + 1], kept[#kept + 2] = name, field[i] end
end
redis.call('UNLINK', KEYS[1], KEYS[2])
keepFields(state, nil, unpack(kept))
return { 'CLEARED', s.owner or '' }`,
};

export const rewindAt15: ScriptPart = {
  file: "rewind.lua",
  line: 15,
  text: `\
local request, s = cjson.decode(ARGV[1]), loadSession(KEYS[3], KEYS[1], KEYS[2])
local function repeated() return s.rev == request.newRev and { 'REWOUND', s.owner or '' } end
local refusal = gate(request, s, nil, repeated)
if refusal then return refusal end
if s.next ~= request.next or not isAsRead(s, request) then return { 'STALE' } end
if request.to < s.base or request.to > s.next then return { 'RANGE' } end
local shown = request.to < s.start or request.to == s.start and s.headCount == 0
local headless = shown or redis.call('HSTRLEN', KEYS[3], 'head') == 0
local named = s.owner or redis.call('HEXISTS', KEYS[3], 'title') + redis.call('HEXISTS', KEYS[3], 'discarded') > 0
local stays = named or redis.call('HEXISTS', KEYS[3], 'holder') == 1
if request.to == s.base and headless and not stays then
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
return { 'REWOUND', '' }
end
truncate(s, request.to, request.newRev, ARGV[2], ARGV, 3)
redis.call('HSET', KEYS[3], 'rev', request.newRev, 'cut', request.newRev)
return { 'REWOUND', s.owner or '' }`,
};

export const rewrapKeyAt13: ScriptPart = {
  file: "rewrap-key.lua",
  line: 13,
  text: `\
local ids, state, s = KEYS[1], KEYS[2], loadSession(KEYS[2])
local refusal = gate(cjson.decode(ARGV[1]), s, 'owner')
if refusal then return refusal end
if s.key .. ' ' .. s.dek ~= ARGV[2] then return { 'CHANGED' } end
if not s.left then redis.call('HSET', state, 'key', ARGV[3], 'dek', ARGV[4]) end
if redis.call('HEXISTS', ids, '[key]') == 1 then redis.call('HSET', ids, '[key]', ARGV[3], '[dek]', ARGV[4]) end
return { 'REWRAPPED' }`,
};

export const stageCopyAt26: ScriptPart = {
  file: "stage-copy.lua",
  line: 26,
  text: `\
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, rounds = cjson.decode(ARGV[1]), 0
local count, firstRecord = request.count, #ARGV - request.count
local other, keys = copyKey(request, state), request.keys
if other then return other end
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
if keys then redis.call('HSET', state, 'key', keys.key, 'dek', keys.dek) end
expireAll(now() + request.ttl)
return { 'STAGED', next }`,
};

export const swapRecordsAt15: ScriptPart = {
  file: "swap-records.lua",
  line: 15,
  text: `\
local log, ids, state = KEYS[1], KEYS[2], KEYS[3]
local request, s = cjson.decode(ARGV[1]), loadSession(state, log, ids)
local refusal = gate(request, s, 'owner key')
if refusal then return refusal end
if s.epoch ~= request.epoch then return { 'SWAPPED', 0 } end
local noted = noteKey(request, s, function(name, value) redis.call('HSET', state, name, value) end)
if noted and s.length > 0 then keepKey(s, ids) end
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

export const swapTextsAt10: ScriptPart = {
  file: "swap-texts.lua",
  line: 10,
  text: `\
local hash, list, swapped = KEYS[1], KEYS[2], 0
local base = list and tonumber(redis.call('HGET', hash, 'base')) or 0
for i = 1, #ARGV, 3 do
local name = list and ARGV[i] - base or ARGV[i]
local stored
if not list then
stored = redis.call('HGET', hash, name)
elseif name >= 0 then
stored = redis.call('LINDEX', list, name)
end
if stored and redis.sha1hex(stored) == ARGV[i + 1] then
redis.call(list and 'LSET' or 'HSET', list or hash, name, ARGV[i + 2])
swapped = swapped + 1
end
end
return { 'SWAPPED', swapped }`,
};

export const beginHeldAt8: ScriptPart = {
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

export const takeAndReadAt15: ScriptPart = {
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

export const takeHoldAt15: ScriptPart = {
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

export const writeSideAt21: ScriptPart = {
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
local noted = request.sets > 0 and noteKey(request, s, set)
inChunks('HSET', state, fields)
if noted and s.length > 0 then keepKey(s, KEYS[2]) end
changeSide(state, firstSet + 2 * request.sets, #ARGV, request.bound)
if request.ttl then expireAll(time + request.ttl) end
return { 'OK', s.owner or '' }`,
};

export const clearItemsScript = script([
  nowAt3,
  expireAllAt4,
  itemsAt12,
  clearItemsAt11,
]);

export const commitReductionScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  asReadAt6,
  nowAt3,
  rememberReductionAt6,
  noteKeyAt8,
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

export const dropEntriesScript = script([
  dropEntriesAt9,
]);

export const enterSessionScript = script([
  enterSessionAt12,
]);

export const eraseRunScript = script([
  expireAllAt4,
  nowAt3,
  topOfRunAt4,
  lastRunAt7,
  eraseRunAt14,
]);

export const eraseSessionScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  inChunksAt3,
  keepFieldsAt7,
  nowAt3,
  eraseSessionAt19,
]);

export const eraseSteersScript = script([
  expireAllAt4,
  nowAt3,
  eraseSteersAt12,
]);

export const eraseThreadScript = script([
  inChunksAt3,
  keepFieldsAt7,
  nowAt3,
  eraseThreadAt15,
]);

export const extendExpiryScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  expireAllAt4,
  nowAt3,
  extendExpiryAt14,
]);

export const finishCopyScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  nowAt3,
  inChunksAt3,
  explainIdsAt8,
  noteKeyAt8,
  writeDiscardedAt6,
  adoptDiscardedAt8,
  sharedMarksAt8,
  writeMarkAt8,
  readMarkAt6,
  expireAllAt4,
  keepAllAt3,
  finishCopyAt27,
]);

export const giveBackHoldScript = script([
  holderAt4,
  giveBackHoldAt14,
]);

export const importItemScript = script([
  nowAt3,
  expireAllAt4,
  itemsAt12,
  importItemAt11,
]);

export const importThreadScript = script([
  inChunksAt3,
  expireAllAt4,
  nowAt3,
  importThreadAt14,
]);

export const openCopyScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  copyKeyAt3,
  openCopyAt13,
]);

export const readAllScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  readAllAt11,
]);

export const readCopyScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  nowAt3,
  sharedMarksAt8,
  readMarkAt6,
  readCopyAt15,
]);

export const readMarksScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  sharedMarksAt8,
  readMarkAt6,
  readMarksAt13,
]);

export const readRoundsScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  beginsRoundAt3,
  readRoundsAt13,
]);

export const readSideScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  readSideAt11,
]);

export const readStatsScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  nowAt3,
  readStatsAt14,
]);

export const readTogetherScript = script([
  readTogetherAt11,
]);

export const readTurnScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  sharedMarksAt8,
  readMarkAt6,
  storedTurnAt6,
  readTurnAt12,
]);

export const readWindowScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  readWindowAt14,
]);

export const rebuildScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  expireAllAt4,
  keepAllAt3,
  nowAt3,
  mendAt9,
  explainIdsAt8,
  noteKeyAt8,
  sharedMarksAt8,
  writeMarkAt8,
  restoreTurnsAt8,
  inChunksAt3,
  restoreDiscardedAt9,
  keepFieldsAt7,
  logSumAt11,
  rebuildAt27,
]);

export const relabelSessionScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  noteKeyAt8,
  relabelSessionAt15,
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
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  inChunksAt3,
  keepFieldsAt7,
  nowAt3,
  restartSessionAt15,
]);

export const rewindScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  asReadAt6,
  beginsRoundAt3,
  nowAt3,
  inChunksAt3,
  forgetAt8,
  logSumAt11,
  sharedMarksAt8,
  writeMarkAt8,
  readMarkAt6,
  truncateAt18,
  rewindAt15,
]);

export const rewrapKeyScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  rewrapKeyAt13,
]);

export const stageCopyScript = script([
  copyKeyAt3,
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
  stageCopyAt26,
]);

export const swapRecordsScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  logSumAt11,
  noteKeyAt8,
  swapRecordsAt15,
]);

export const swapTextsScript = script([
  swapTextsAt10,
]);

export const takeAndReadScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
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
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  holderAt4,
  seekHoldAt7,
  nowAt3,
  expireAllAt4,
  beginHeldAt8,
  takeHoldAt15,
]);

export const writeSideScript = script([
  numbersAt5,
  ownerLeftAt10,
  loadSessionAt13,
  gateAt18,
  nowAt3,
  nameOwnerAt5,
  claimAt6,
  noteKeyAt8,
  inChunksAt3,
  changeSideAt6,
  expireAllAt4,
  writeSideAt21,
]);

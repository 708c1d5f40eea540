// Written by `npm run lua` from the .lua files of this folder. Change those.

import { script, type ScriptPart } from "../../redis/script.js";

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

export const findItemsAt6: ScriptPart = {
  file: "includes/find-items.lua",
  line: 6,
  text: `\
local run, isChanged = {}, false

local function read(name)
local record = call('HGET', values, name)
local ttl = record and record:match('^%d+|%d+|(%d+)|')
if ttl then
call('ZADD', expiry, string.format('%.0f', time + ttl), name)
isChanged = true
end
return record
end

function run.get(name)
return isLive(call('ZSCORE', expiry, name)) and read(name)
end

function run.touch(name)
run.get(name)
return 0
end

function run.search(lower, upper, skip, count, most, refresh)
local found, at = {}, 0
eachLive(lower, upper, math.min(1000, skip + count), function(name)
at = at + 1
if at > most + 0 then return false end
if at > skip + 0 then
found[#found + 1] = name
found[#found + 1] = refresh == '1' and read(name) or call('HGET', values, name)
end
return #found < 2 * count
end)
return at > most + 0 and 'MANY' or found
end

function run.list(lower, upper, depth, count, most)
local found = {}
while #found < count + 0 do
local name = firstLive(lower, upper)
if not name then return found end
local namespace, labels, last = name:match('^(.-)%z%z'), 0, 0
while depth ~= '' and labels < depth + 0 and last <= #namespace do
last, labels = namespace:find('%z', last + 1) or #namespace + 1, labels + 1
end
local isShortened = depth ~= '' and labels == depth + 0
namespace = isShortened and namespace:sub(1, last - 1) or namespace
lower = '[' .. namespace .. (isShortened and '\\1' or '\\0\\1')
found[#found + 1] = namespace
end
return #found > most + 0 and 'MANY' or found
end`,
};

export const changeItemsAt5: ScriptPart = {
  file: "includes/change-items.lua",
  line: 5,
  text: `\
function run.put(name, text, ttl, ttlAtReads)
local stored = isLive(call('ZSCORE', expiry, name)) and call('HGET', values, name)
local created = stored and stored:match('^%d+') or string.format('%.0f', time)
call('HSET', values, name, created .. '|' .. string.format('%.0f', time) .. '|' .. ttlAtReads .. '|' .. text)
call('ZADD', names, 0, name)
call('ZADD', expiry, '+inf', '')
if ttl == '' then
call('ZREM', expiry, name)
else
call('ZADD', expiry, string.format('%.0f', time + ttl), name)
end
isChanged = true
return 0
end

function run.delete(name)
removeItems({ name })
isChanged = true
return 0
end

local function removeExpired(most)
if isGone then return end
local expired = call('ZRANGEBYSCORE', expiry, '-inf', string.format('%.0f', time), 'LIMIT', 0, most)
removeItems(expired)
isChanged = isChanged or #expired > 0
end`,
};

export const runOperationsAt17: ScriptPart = {
  file: "run-operations.lua",
  line: 17,
  text: `\
local _, isDamaged = loadStore()
if isDamaged then return { 'DAMAGED' } end
local replies, at = { 'OK' }, 1
while at <= #ARGV do
local count = tonumber(ARGV[at + 1])
replies[#replies + 1] = run[ARGV[at]](unpack(ARGV, at + 2, at + 1 + count)) or false
at = at + 2 + count
end
removeExpired(100)
if isChanged then expireStore() end
return replies`,
};

export const runOperationsScript = script([
  nowAt3,
  expireAllAt4,
  itemsAt12,
  findItemsAt6,
  changeItemsAt5,
  runOperationsAt17,
]);

import { anyDigest } from "../../store/discarded-ids.js";
import { digestLength, idHashLength } from "../id-hash.js";

/** Fields of `state` that make up a view, in the order in which every read returns them. */
export const viewFields = [
  ...["epoch", "rev", "base", "start", "next", "head", "headCount", "tokens", "counter"],
  ...["owner", "erased"],
] as const;

const quotedViewFields = viewFields.map((field) => `'${field}'`).join(", ");

/**
 * Lua: `wholeFrom(text, most)`, the number that a field holds; nil unless it is a whole number from 0 to `most`. By
 * default up to 5e13: Lua writes numbers from 1e14 on in another form. `amountFrom(text)` is the same for any number
 * of 0 or more.
 */
export const wholeFrom = `
local function wholeFrom(text, most)
  local number = text and text:match('^%d+$') and tonumber(text)
  return number and number <= (most or 5e13) and number or nil
end
local function amountFrom(text)
  local number = text and text:match('^%d[%d.e+-]*$') and tonumber(text)
  return number and number < math.huge and number or nil
end`;

/**
 * Lua, for scripts with KEYS log, ids, state: `loadSession()`, all that scripts decide by. A session whose numbers
 * cannot be read or do not fit each other is damaged. Fails on a key of the wrong type. Does not read the head.
 */
export const loadSession = `${wholeFrom}
local function loadSession()
  local field = redis.call('HMGET', KEYS[3],
    'epoch', 'rev', 'base', 'start', 'next', 'headCount', 'tokens', 'counter', 'rounds', 'fence', 'key',
    'owner', 'erased', 'label')
  local sound = true
  local function whole(text, most)
    local number = wholeFrom(text or '0', most)
    sound = sound and number ~= nil
    return number or 0
  end
  local s = {
    epoch = field[1] or '', rev = field[2] or '', base = whole(field[3]), start = whole(field[4]),
    next = whole(field[5]), begun = field[5] ~= false, headCount = whole(field[6]),
    tokens = amountFrom(field[7]), counter = field[8] or '',
    rounds = whole(field[9]), fence = whole(field[10], 2 ^ 53), key = field[11] or '',
    owner = field[12] or nil, erased = field[13], label = field[14]
  }
  sound = sound and (not field[7] or s.tokens ~= nil)
  s.length, s.known = redis.call('LLEN', KEYS[1]), redis.call('HLEN', KEYS[2])
  if s.erased then s.next, s.begun = 0, false end
  s.last = s.next
  s.damaged = not sound or s.rounds > s.next or s.length ~= s.next - s.base or s.start < s.base or s.start > s.next
    or s.length > 0 and s.known <= s.length or s.begun and s.epoch == ''
  return s
end`;

/**
 * Lua, for scripts with KEYS log, ids, state: `view()`, a reply of fields, records, number of ids, and index of the
 * first record: 0 where the fields do not say it.
 */
export const view = `${wholeFrom}
local function view()
  local field = redis.call('HMGET', KEYS[3], ${quotedViewFields})
  local base, start, next = wholeFrom(field[3] or '0'), wholeFrom(field[4] or '0'), wholeFrom(field[5] or nil)
  local sound = base and start and next and base <= start and start <= next
  sound = sound and wholeFrom(field[7] or '0') and amountFrom(field[8] or '0')
  local first = sound and start - base or 0
  return { field, redis.call('LRANGE', KEYS[1], first, -1), redis.call('HLEN', KEYS[2]), first }
end`;

/**
 * Lua: an expression that is true where the session `s` is as a request says that it was read, but for its length: of
 * the same life and revision, and with the id whose hash is `last` at the end of what was read. Without a `last` that
 * is not compared.
 */
export function isAsRead(request: string): string {
  const same = `s.epoch ~= '' and s.epoch == ${request}.epoch and s.rev == ${request}.rev`;
  const stored = `(redis.call('HGET', KEYS[2], ${request}.last) or ''):sub(${digestLength + 1})`;
  return `(${same} and (not ${request}.last or ${stored} == string.format('%.0f', ${request}.next - 1)))`;
}

/**
 * Lua: `inChunks(command, key, values, from, to)` calls a command with all values, as many at a time as Lua's stack
 * takes.
 */
export const inChunks = `
local function inChunks(command, key, values, from, to)
  local last = to or #values
  for first = from or 1, last, 7000 do
    redis.call(command, key, unpack(values, first, math.min(first + 6999, last)))
  end
end`;

/** Fields of `ids` up to which Redis may keep it in its compact form. */
export const mostCompact = 32;

/**
 * Lua: `explainIds(known, added, anew)` keeps the field of `ids` that says how to read it, which no id has: in a hash
 * that is written `anew`, and where it grows from `known` fields beyond {@link mostCompact}. The long text makes Redis
 * keep the hash as a table. The compact form takes half of the memory, but is searched from front to back: ten ids
 * among 500 take 50 µs to find in it.
 */
export const explainIds = `
local function explainIds(known, added, anew)
  local isLong = known + added > ${mostCompact}
  if not anew and (known > ${mostCompact} or not isLong) then return end
  redis.call('HSET', KEYS[2], '[how to read:]', not isLong and 'id: digest, position'
    or 'SHA-256 of a message id in base64url = that of the content, then the position in the log')
end`;

/** Lua: `beginsRound(record)`. */
export const beginsRound = `
local function beginsRound(record)
  return record:byte(10) == 104 and record:sub(1, 15) == '{"type":"human"'
end`;

/** Lua: `now()`, the server's time in milliseconds. */
export const now = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`;

/**
 * Lua: `forget(hashes, from, to)` removes those of the hashes, {@link idHashLength} characters each, whose position
 * lies in [from, to), and counts them. Needs {@link inChunks}.
 */
export const forget = `
local function forget(hashes, from, to)
  local count, length = 0, ${idHashLength}
  for first = 1, #hashes, 5000 * length do
    local fields, gone = {}, {}
    for at = first, math.min(first + 5000 * length, #hashes + 1) - length, length do
      fields[#fields + 1] = hashes:sub(at, at + length - 1)
    end
    for i, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(fields))) do
      local position = stored and tonumber(stored:sub(${digestLength + 1}))
      if position and position >= from and position < to then
        gone[#gone + 1] = fields[i]
      end
    end
    inChunks('HDEL', KEYS[2], gone)
    count = count + #gone
  end
  return count
end`;

/**
 * Lua: `changeSide(state, from, to, bound)` removes the side fields that ARGV names from one index to another, and
 * keeps to a bound. Names are compared byte by byte, because Lua's `<` follows the server's locale. Needs {@link
 * inChunks}.
 */
export const changeSide = `
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
end`;

/**
 * Lua: `sortOut(s, count)` finds among the pairs of hash and digest from ARGV[2] on those that are known, in the log or
 * as discarded: number of repetitions, conflicts, both as a set of indexes; nothing if one of them cannot be read.
 */
export const sortOut = `
local function sortOut(s, count)
  local hashes, known, duplicates, conflicts = {}, {}, 0, {}
  for i = 1, count do hashes[i] = ARGV[2 * i] end
  for first = 1, count, 7000 do
    local found = redis.call('HMGET', KEYS[2], unpack(hashes, first, math.min(first + 6999, count)))
    for offset = 1, #found do
      local stored, i = s.begun and found[offset], first + offset - 1
      local position = stored and stored:match('^%-?%d+$', ${digestLength + 1})
      if stored and not (position and tonumber(position) < s.last) then return nil end
      if stored and tonumber(position) < s.next then
        known[i] = true
        local digest = stored:sub(1, ${digestLength})
        if digest == ARGV[2 * i + 1]:sub(1, ${digestLength}) or digest == '${anyDigest}' then
          duplicates = duplicates + 1
        else
          conflicts[#conflicts + 1] = i - 1
        end
      end
    end
  end
  return known, duplicates, conflicts
end`;

/**
 * Lua: `exceeds(request, s, next, total, counter)` is true if the view is larger than the writer allows, or its
 * tokens are limited and not known.
 */
export const exceeds = `
local function exceeds(request, s, next, total, counter)
  if request.maxMessages and s.headCount + next - s.start > request.maxMessages then return true end
  if request.maxFromStart and next - s.start > request.maxFromStart then return true end
  return request.maxTokens and (not total or counter ~= request.counter or total > request.maxTokens) or false
end`;

/** Lua: `expireAll(at)` lets all keys of the session expire at one millisecond of server time. */
export const expireAll = `
local function expireAll(at)
  local text = string.format('%.0f', at)
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, text) end
end`;

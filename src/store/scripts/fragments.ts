/** Fields of `state` that make up a view, in the order in which every read returns them. */
export const viewFields = ["epoch", "rev", "base", "start", "next", "head", "headCount", "tokens", "counter"] as const;

const quotedViewFields = viewFields.map((field) => `'${field}'`).join(", ");

/**
 * Lua, for scripts with KEYS log, ids, state: `loadSession()`, all that scripts decide by. Fails on a key of the wrong type. The head is left
 * out: it may be long, and no write should take longer for that.
 */
export const loadSession = `
local function loadSession()
  local field = redis.call('HMGET', KEYS[3], 'epoch', 'rev', 'base', 'start', 'next', 'headCount', 'tokens', 'counter', 'rounds', 'fence')
  local s = {
    epoch = field[1] or '', rev = field[2] or '', base = tonumber(field[3] or 0), start = tonumber(field[4] or 0),
    next = tonumber(field[5] or 0), begun = field[5] ~= false, headCount = tonumber(field[6] or 0),
    tokens = tonumber(field[7] or ''), counter = field[8] or '', rounds = tonumber(field[9] or 0), fence = tonumber(field[10] or 0)
  }
  s.length, s.known = redis.call('LLEN', KEYS[1]), redis.call('HLEN', KEYS[2])
  s.damaged = s.length ~= s.next - s.base or s.known < s.length
  return s
end`;

/** Lua, for scripts with KEYS log, ids, state: `view()`, a reply of fields, records, number of ids, and index of the first record. */
export const view = `
local function view()
  local field = redis.call('HMGET', KEYS[3], ${quotedViewFields})
  local first = field[5] and tonumber(field[4] or 0) - tonumber(field[3] or 0) or 0
  return { field, redis.call('LRANGE', KEYS[1], first, -1), redis.call('HLEN', KEYS[2]), first }
end`;

/** Lua: `inChunks(command, key, values, from)` calls a command with all values, as many at a time as Lua's stack takes. */
export const inChunks = `
local function inChunks(command, key, values, from)
  for first = from or 1, #values, 7000 do
    redis.call(command, key, unpack(values, first, math.min(first + 6999, #values)))
  end
end`;

/** Lua: `slice(values, from, to)`. */
export const slice = `
local function slice(values, from, to)
  local part = {}
  for i = from, to do
    part[#part + 1] = values[i]
  end
  return part
end`;

/** Lua: `beginsRound(record)`. */
export const beginsRound = `
local function beginsRound(record)
  return record:sub(1, 15) == '{"type":"human"'
end`;

/** Lua: `now()`, the server's time in milliseconds. */
export const now = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`;

/** Lua: `forget(hashes, from, to)` removes those of the packed 10-byte hashes whose position lies in [from, to), and counts them. Needs {@link inChunks}. */
export const forget = `
local function forget(hashes, from, to)
  local count = 0
  for first = 1, #hashes, 50000 do
    local fields, gone = {}, {}
    for at = first, math.min(first + 49999, #hashes), 10 do
      fields[#fields + 1] = hashes:sub(at, at + 9)
    end
    for i, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(fields))) do
      local position = stored and tonumber(stored:sub(7))
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
 * Lua: `changeSide(state, names, bound)` removes side fields and keeps to a bound. Names are compared byte by byte, because Lua's `<`
 * follows the server's locale. Needs {@link inChunks}.
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
local function changeSide(state, names, bound)
  inChunks('HDEL', state, names)
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

/** Lua: `sortOut(s, count, identities)` finds among packed identities (10-byte hash, 6-byte digest) the new ones, the repetitions and the conflicts. */
export const sortOut = `
local function sortOut(s, count, identities)
  local fresh, duplicates, conflicts = {}, 0, {}
  for first = 1, count, 5000 do
    local fields = {}
    for i = first, math.min(first + 4999, count) do
      fields[#fields + 1] = identities:sub(16 * i - 15, 16 * i - 6)
    end
    for offset, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(fields))) do
      local i = first + offset - 1
      local position = stored and tonumber(stored:sub(7))
      if not position or position < s.base or position >= s.next then
        fresh[#fresh + 1] = i
      elseif stored:sub(1, 6) == identities:sub(16 * i - 5, 16 * i) then
        duplicates = duplicates + 1
      else
        conflicts[#conflicts + 1] = i - 1
      end
    end
  end
  return fresh, duplicates, conflicts
end`;

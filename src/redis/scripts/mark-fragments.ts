/** Fields of `ids` from which on new marks share fields; up to there each has a field of its own. */
export const mostOwn = 32;

/** Bytes of a shared field from which on it is divided, and how often one can be divided. */
const longest = 800;
const mostDigits = 6;

/**
 * The shared field of `ids` that holds the marks of turns whose names begin with these digits: 14 characters, as all
 * fields of `ids` have.
 */
export function sharedField(digits: string): string {
  return `[turns:${digits.padEnd(mostDigits, ".")}]`;
}

/** The fields of `ids` that can hold the mark of a turn: its own, and the shared ones. */
export function markFields(name: string): string[] {
  const digits = Array.from(name.slice(0, mostDigits), (letter) => letter.charCodeAt(0) % 8).join("");
  return [name, ...Array.from({ length: mostDigits + 1 }, (_, count) => sharedField(digits.slice(0, count)))];
}

/** The mark, as {@link markFields} were found to hold it: in the form that a field of its own has. */
export function markAmong(name: string, [own, ...shared]: readonly (string | null | undefined)[]): string | undefined {
  const text = shared.find((each) => each !== "/") ?? "";
  const from = text.indexOf(`${name}:`);
  const [, kind, count, first] = /^([Tt])(\d+)@(\d+) /.exec(from < 0 ? "" : text.slice(from + name.length + 1)) ?? [];
  return own ?? (kind === undefined ? undefined : kind + count!.padStart(7, "0") + first!);
}

/**
 * Lua, for scripts with KEYS log, ids, state: where the mark of a turn stands in `ids`. A mark is whether the turn is
 * done, its number of messages, and the first position: `T00000025` in a field of its own, `<name>:T2@5 ` among others
 * in a shared one, which takes half of the memory. A shared field that grows too long is divided among eight by the
 * next character of the names, and holds `/` from then on. So a mark is found by a few lookups however many there are.
 */
const sharedMarks = `
local function sharedField(digits)
  return '[turns:' .. digits .. ('${".".repeat(mostDigits)}'):sub(#digits + 1) .. ']'
end
local function sharedMark(name)
  local digits = ''
  while true do
    local text = redis.call('HGET', KEYS[2], sharedField(digits)) or ''
    if text ~= '/' or #digits == ${mostDigits} then return digits, text, text:find(name .. ':', 1, true) end
    digits = digits .. name:byte(#digits + 1) % 8
  end
end`;

/** Lua: `readMark(name)`, a table of `kind`, `count`, `first`; with `unreadable` where it cannot be read. */
export const readMark = `${sharedMarks}
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
end`;

/** Lua: `writeMark(name, kind, count, first)`; without a kind it removes the mark. Needs {@link readMark}. */
export const writeMark = `
local function putShared(digits, entries)
  local text, parts = table.concat(entries), {}
  if #text <= ${longest} or #digits == ${mostDigits} then
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
  local isOwn = redis.call('HEXISTS', ids, name) == 1 or kind and not from and redis.call('HLEN', ids) <= ${mostOwn}
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
  if #text > ${longest} then
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
end`;

/**
 * Lowest score of a session in an owner's ZSET. Sessions are scored by microseconds; below them lie members
 * `!<session>` scored by the session's expiry in milliseconds, and `!`, the mark of an erasure, by its own.
 */
export const firstScore = "100000000000000";

/**
 * Lua: `stampOf(value)`, what the value of an entry begins with: the version of what was written, or `?` and the time
 * of an announcement in microseconds, or "" where there is no value. Each write of an entry changes it.
 */
export const stampOf = `
local function stampOf(value) return (value or ''):match('^%??%d*') end`;

/** Lua: `micros()`, the server's time in microseconds, and `whole(number)`, a number as text without an exponent. */
export const indexTime = `
local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function whole(number) return string.format('%.0f', number) end`;

/**
 * Lua, for scripts with KEYS sessions, summaries: `prune(limit)` removes entries past their expiry, the oldest first.
 * Never fails: a server that refuses writes leaves them, and readers pass over them.
 */
export const prune = `
local function prune(limit)
  local now = '(' .. whole(math.floor(micros() / 1000))
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], 1, now, 'LIMIT', 0, limit)) do
    local session = name:sub(2)
    redis.pcall('ZREM', KEYS[1], name, session)
    redis.pcall('HDEL', KEYS[2], session == '' and '!' or session)
  end
end`;

/**
 * Lua, for scripts with KEYS sessions, summaries: `expireIndex()` lets both keys expire with the last of their
 * sessions, and keeps them while one of these has no expiry.
 */
export const expireIndex = `
local function expireIndex()
  local listed = redis.call('ZCOUNT', KEYS[1], ${firstScore}, '+inf')
  local mortal = redis.call('ZCOUNT', KEYS[1], 1, '(${firstScore}') - (redis.call('ZSCORE', KEYS[1], '!') and 1 or 0)
  local last = redis.call('ZREVRANGEBYSCORE', KEYS[1], '(${firstScore}', 1, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  for _, key in ipairs(KEYS) do
    if listed > mortal then redis.call('PERSIST', key) elseif last then redis.call('PEXPIREAT', key, last) end
  end
end`;

/**
 * Lua, for scripts with KEYS sessions, summaries: `front()`, a score above all others, and `place(wanted)`, a free
 * one from a score on, found in few steps also among many of one millisecond. Scores are unique, so that a page ends at
 * one of them; they grow even if the clock jumps back.
 */
export const scores = `
local function front()
  local top = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
  return math.max(micros(), tonumber(top or 0) + 1)
end
local function place(wanted)
  local step = 1
  while redis.call('ZCOUNT', KEYS[1], whole(wanted), whole(wanted)) > 0 do wanted, step = wanted + step, 2 * step end
  return wanted
end`;

-- Moves the start and replaces the head, if the session is unchanged since the read but for appends (compare-and-set).
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { epoch, rev, next, last?, newRev, start, headCount, discard, tokens?, counter?,
--   tokensRead?, maxTokens?, shared, sharedHash, owner?, expectedEpoch?, fencingToken?, keys? }; the head, but for
--   its first `shared` bytes, which are those of the head as it was. With `discard` the records before the start go;
--   their ids and turns stay.
-- Replies: COMMITTED owner | those of the gate | STALE.
--
-- Idempotent: a retry after a lost reply finds its own `newRev` and gets the same reply.
--
-- The last `maxReductions` are remembered in the field `reductions`, one line of JSON each, their number in `reduced`.
--
-- twin: store/in-memory/session.ts
--
--- @include gate
--- @include as-read
--- @include now
--- @include note-key
--- @const maxReductions

local function rememberReduction(time, s, request, total)
  local function size(messages, tokens)
    local count = tokens and string.format(',"tokens":%.17g', tokens) or ''
    return string.format('{"messages":%.0f', messages) .. count .. '}'
  end
  local numbers = string.format('{"at":%.0f,"start":%.0f,"head":%.0f', time, request.start, request.headCount)
  if request.maxTokens then numbers = numbers .. string.format(',"maxTokens":%.17g', request.maxTokens) end
  local before = size(s.headCount + s.next - s.start, s.tokens)
  local after = size(request.headCount + s.next - request.start, total)
  local lines = redis.call('HGET', KEYS[3], 'reductions') or ''
  local count = tonumber(redis.call('HGET', KEYS[3], 'reduced') or 0)
  if count >= maxReductions then lines = lines:sub((lines:find('\n', 1, true) or 0) + 1) end
  if lines ~= '' then lines = lines .. '\n' end
  lines = lines .. numbers .. ',"before":' .. before .. ',"after":' .. after .. '}'
  redis.call('HSET', KEYS[3], 'reductions', lines, 'reduced', count + 1)
end
local log, state = KEYS[1], KEYS[3]
local request, s = cjson.decode(ARGV[1]), loadSession(state, log, KEYS[2])
local function repeated() return s.rev == request.newRev and { 'COMMITTED', s.owner or '' } end
local refusal = gate(request, s, nil, repeated)
if refusal then return refusal end
local shared = request.shared > 0 and (redis.call('HGET', state, 'head') or ''):sub(1, request.shared) or ''
local isShared = redis.sha1hex(shared) == request.sharedHash
if s.next < request.next or not isShared or not isAsRead(s, request) then return { 'STALE' } end
local total = request.counter and request.tokens
if total and s.next ~= request.next then
  local known = s.tokens and s.counter == request.counter and request.tokensRead
  total = known and total + (s.tokens - request.tokensRead)
end
local time = now()
rememberReduction(time, s, request, total)
redis.call('HSET', state, 'start', request.start, 'next', s.next, 'rev', request.newRev)
redis.call('HSET', state, 'head', shared .. ARGV[2], 'headCount', request.headCount, 'updated', time)
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
end
return { 'COMMITTED', s.owner or '' }

-- Replaces title and metadata, if they are unchanged since the read (compare-and-set).
--
-- KEYS: ids, state.
-- ARGV: the request as JSON { owner?, version, newVersion, keys? }; title and metadata, each as "1" and the text, or
--   "0" and "".
-- Replies: CHANGED | those of the gate | STALE | NONE.
--
-- Idempotent: a retry after a lost reply finds its own `newVersion`.
--
-- twin: store/in-memory/lists.ts
--
--- @include gate
--- @include note-key

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
return { 'CHANGED' }

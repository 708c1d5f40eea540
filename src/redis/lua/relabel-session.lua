-- Replaces title and metadata, if they are unchanged since the read (compare-and-set).
--
-- KEYS: state.
-- ARGV: the request as JSON { owner?, version, newVersion }; title and metadata, each as "1" and the text, or "0" and
--   "".
-- Replies: CHANGED | those of the gate | STALE | NONE.
--
-- Idempotent: a retry after a lost reply finds its own `newVersion`.
--
-- twin: model/lists.ts
--
--- @include gate

local state, request, s = KEYS[1], cjson.decode(ARGV[1]), loadSession(KEYS[1])
local refusal = gate(request, s, 'erased')
if refusal then return refusal end
if s.epoch == '' then return { 'NONE' } end
if s.label == request.newVersion then return { 'CHANGED' } end
if (s.label or '') ~= request.version then return { 'STALE' } end
redis.call('HSET', state, 'label', request.newVersion)
for i, name in ipairs({ 'title', 'metadata' }) do
  if ARGV[2 * i] == '1' then
    redis.call('HSET', state, name, ARGV[2 * i + 1])
  else
    redis.call('HDEL', state, name)
  end
end
return { 'CHANGED' }

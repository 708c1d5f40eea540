-- Replaces title and metadata, if they are as they were read.
--
-- KEYS: state.
-- ARGV: the request as JSON { owner?, version, newVersion }; title, metadata and the metadata for lists, each as "1"
--   and the text, or "0" and "".
-- Replies: CHANGED | STALE | NONE | OWNER | ERASED.
--
-- A repetition of the same call, sent because its reply was lost, finds its own `newVersion`.
--
-- twin: model/lists.ts

local state, request = KEYS[1], cjson.decode(ARGV[1])
local field = redis.call('HMGET', state, 'epoch', 'owner', 'label', 'erased')
if field[4] then return 'ERASED' end
if not field[1] then return 'NONE' end
if request.owner and field[2] and field[2] ~= request.owner then return 'OWNER' end
if field[3] == request.newVersion then return 'CHANGED' end
if (field[3] or '') ~= request.version then return 'STALE' end
redis.call('HSET', state, 'label', request.newVersion)
for i, name in ipairs({ 'title', 'metadata', 'listed' }) do
  if ARGV[2 * i] == '1' then
    redis.call('HSET', state, name, ARGV[2 * i + 1])
  else
    redis.call('HDEL', state, name)
  end
end
return 'CHANGED'

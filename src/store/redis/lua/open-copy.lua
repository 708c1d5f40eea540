-- The progress of a copy.
--
-- KEYS: log, ids, state of the new session; state of the copy.
-- ARGV: the request as JSON { keys?, isReplacing? }: true for a copy that takes the place of its session.
-- Replies: NEXT and the position that the next record of the copy gets, or "" where none was copied yet | those of the
--   gate | EXISTS (there is such a session).
--
-- twin: store/in-memory/copies.ts
--
--- @include gate
--- @include copy-key

local request = cjson.decode(ARGV[1])
local refusal = gate({}, loadSession(KEYS[3], nil, nil, redis.pcall), 'erased')
if refusal then return refusal end
if not request.isReplacing and redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then return { 'EXISTS' } end
local other = copyKey(request, KEYS[4])
if other then return other end
return { 'NEXT', redis.call('HGET', KEYS[4], 'next') or '' }

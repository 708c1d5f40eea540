-- Begins a re-encryption pass: stores the new key and the pass's mark.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { keys }; the mark.
-- Replies: BEGUN epoch key fields (name, text, …; what stands beside the log) | NONE | DAMAGED | KEY names.
--
-- twin: model/edits.ts
--
--
--- @include gate

local state, request, s = KEYS[3], cjson.decode(ARGV[1]), loadSession(KEYS[3], KEYS[1], KEYS[2])
local refusal = gate(request, s, 'damaged key')
if refusal then return refusal end
if s.epoch == '' then return { 'NONE' } end
local names = request.keys.current
for name in s.key:gmatch('%S+') do
  if name ~= request.keys.current and name:byte(1) ~= 42 then names = names .. ' ' .. name end
end
names = names .. ' *' .. ARGV[2]
redis.call('HSET', state, 'key', names)
local fields = {}
for _, name in ipairs(redis.call('HKEYS', state)) do
  if name == 'head' or name:sub(1, 5) == 'side:' then
    fields[#fields + 1] = name
    fields[#fields + 1] = redis.call('HGET', state, name)
  end
end
return { 'BEGUN', s.epoch, names, fields }

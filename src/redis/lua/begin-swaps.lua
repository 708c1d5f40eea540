-- Begins a pass that replaces texts, and notes the key that they get and a mark.
--
-- KEYS: log, ids, state.
-- ARGV: the request as JSON { keys }; the mark.
-- Replies: BEGUN epoch key fields (name, text, …; what stands beside the log) | NONE | DAMAGED | KEY names.
--
-- twin: model/record-swaps.ts
--
--- @include load-session
--- @include refuse-key

local state, request, s = KEYS[3], cjson.decode(ARGV[1]), loadSession()
if s.damaged then return 'DAMAGED' end
if s.epoch == '' then return { 'NONE' } end
local refusal = refuseKey(request, s.key)
if refusal then return refusal end
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

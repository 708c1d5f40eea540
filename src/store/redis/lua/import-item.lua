-- Writes an item of long-term memory as it was exported, where there is none of its name.
--
-- KEYS: values, names, expiry.
-- ARGV: the item's name; its record; when it expires in milliseconds, or ""; the data key of its text, or "".
-- Replies: OK | STORED record (there is one) | DAMAGED.
--
-- twin: none, items are kept in Redis only
--
--- @include items
--- @include add-key

local name, record, at = ARGV[1], ARGV[2], ARGV[3]
local _, isDamaged = loadStore()
if isDamaged then return { 'DAMAGED' } end
local stored = isLive(call('ZSCORE', expiry, name)) and call('HGET', values, name)
if stored then return { 'STORED', stored } end
call('HSET', values, name, record)
addKey(values, ARGV[4] ~= '' and ARGV[4])
call('ZADD', names, 0, name)
call('ZADD', expiry, '+inf', '')
if at == '' then
  call('ZREM', expiry, name)
else
  call('ZADD', expiry, at, name)
end
expireStore()
return { 'OK' }

-- writes what `plain-append` has checked. The first write is an HSET, which a full server refuses before anything has
-- changed. The checksum is that of `extendSum`.
--
--- @const mostCompact
--- @const sumFactor
--- @const sumModulus

local time, set, fence = call('TIME'), {}
local updated = string.format('%s%03d', time[1], time[2] / 1000)
if created then set = { 'epoch', field[3], 'rev', field[3], 'created', updated } end
if total then
  set[#set + 1], set[#set + 2], set[#set + 3], set[#set + 4] =
    'tokens', string.format('%.17g', total), 'counter', counter
end
if ticket ~= '' then
  fence = string.format('%.0f', math.max(time[1] * 1000000 + time[2], (field[9] or 0) + 1))
  local holder = string.format('%s %.0f %s', ticket, updated + holdMs, fence)
  set[#set + 1], set[#set + 2], set[#set + 3], set[#set + 4] = 'fence', fence, 'holder', holder
end
for _ = 1, count do sum = sum * sumFactor % sumModulus end
call('HSET', state, 'updated', updated, 'next', next, 'rounds', string.format('%.0f', rounds + begun), 'sum',
  string.format('%.0f', (sum + addedSum) % sumModulus), unpack(set))
if back ~= '' then call('HDEL', state, 'holder') end
if begins or known <= mostCompact and known + count >= mostCompact then
  --- @include explain-ids
  explainIds(known, count + (stored == '0' and 1 or 0), begins)
end
if mark then
  call('HSET', ids, turn, mark, unpack(ARGV, 2, 2 * count + 1))
else
  call('HSET', ids, unpack(ARGV, 2, 2 * count + 1))
end
call('RPUSH', log, unpack(ARGV, 2 * count + 2))
if used ~= '' then
  --- @include count-usage
  countUsage(cjson.decode(ARGV[1]:sub(from)).usage, {})
end
if begins and ttl == '' then ttl = call('PTTL', state) end
if ttl ~= '' and ttl + 0 >= 0 then
  local expiry = string.format('%.0f', updated + ttl)
  call('PEXPIREAT', log, expiry)
  call('PEXPIREAT', ids, expiry)
  call('PEXPIREAT', state, expiry)
end

-- the short path of an append of records only, to a session unchanged since the caller's last call. The request begins
-- with `at next rounds sum ttl maxMessages maxFromStart usage`, each empty if there is none: the end of the log before
-- and after, the rounds that begin, the records' checksum, the time to live, the limits of the view and from its start,
-- and 1 if records carry token usage. The request as JSON follows, from the character `from` on, for the full path
-- (with `at` set).
--
-- Replies with the end of the log, the time, the epoch and the owner. Any exception (a known id, an invalid number, a
-- view that becomes too large) falls through to the full path: nothing is written until all is checked, by the rules of
-- `loadSession`. Each run of a script creates its local functions anew, so this comes before them and has few. An
-- append of 2 takes the server 183,000 instructions this way and 288,000 the other way; a script of the same commands
-- without any check takes 168,000.
--
--- @const mostCompact
--- @const sumFactor
--- @const sumModulus

local at, next, begun, added, ttl, most, mostFromStart, used, from =
  ARGV[1]:match('^(%d+) (%d+) (%d+) (%d+) (%d*) (%d*) (%d*) (%d*) ()')
if at then
  local call = redis.call
  local field = call('HMGET', KEYS[3], 'next', 'rounds', 'epoch', 'owner', 'base', 'start', 'headCount',
    'tokens', 'fence', 'key', 'erased', 'sum')
  local expected = field[1] == at and (field[3] or ''):find('^%S+$')
    and not (field[8] or field[9] or field[10] or field[11])
  local rounds, base, start, head, sum = ((field[2] or 0) .. ' ' .. (field[5] or 0) .. ' ' .. (field[6] or 0) .. ' '
    .. (field[7] or 0) .. ' ' .. (field[12] or '')):match('^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  if expected and rounds then
    rounds, base, start, head = rounds + 0, base + 0, start + 0, head + 0
    local last, length, known, count = at + 0, call('LLEN', KEYS[1]), call('HLEN', KEYS[2]), (#ARGV - 1) / 3
    expected = rounds <= last and base <= start and start <= last and head <= 5e13
      and length > 0 and length == last - base and known > length
      and (known > mostCompact or known + count <= mostCompact)
      and (most == '' or head + next - start <= most + 0) and (mostFromStart == '' or next - start <= mostFromStart + 0)
    local hashes = {}
    for i = 1, expected and count or 0 do hashes[i] = ARGV[2 * i] end
    local found = expected and call('HMGET', KEYS[2], unpack(hashes)) or hashes
    for i = 1, #found do expected = expected and not found[i] end
  end
  if expected and rounds then
    local count, time = (#ARGV - 1) / 3, call('TIME')
    local updated = string.format('%s%03d', time[1], time[2] / 1000)
    for _ = 1, count do sum = sum * sumFactor % sumModulus end
    call('HSET', KEYS[3], 'updated', updated, 'next', next, 'rounds', string.format('%.0f', rounds + begun),
      'sum', string.format('%.0f', (sum + added) % sumModulus))
    call('HSET', KEYS[2], unpack(ARGV, 2, 2 * count + 1))
    call('RPUSH', KEYS[1], unpack(ARGV, 2 * count + 2))
    if used ~= '' then
      --- @include count-usage
      countUsage(cjson.decode(ARGV[1]:sub(from)).usage, {})
    end
    if ttl ~= '' then
      local expiry = string.format('%.0f', updated + ttl)
      call('PEXPIREAT', KEYS[1], expiry)
      call('PEXPIREAT', KEYS[2], expiry)
      call('PEXPIREAT', KEYS[3], expiry)
    end
    return next .. ' ' .. updated .. ' ' .. field[3] .. ' ' .. (field[4] or '')
  end
end

-- what became of the view that the caller keeps: ARGV[2] to ARGV[7] are its epoch, rev, base, end, checksum and first
-- position, all empty without one. `same` is what a writer may have changed besides, owner, tokens, counter and data
-- key, where the log is still the kept one and nothing was reduced; 1 if the session has none of them. Else `first` is
-- the index of the last kept record, where the view may continue the kept one: the caller compares the checksums.
--
-- Each run of a script creates its local functions again, so this comes before them and has none of its own.

local same, first
if ARGV[2] ~= '' then
  local call, log, state = redis.call, KEYS[1], KEYS[3]
  local field = call('HMGET', state, 'epoch', 'rev', 'base', 'next', 'sum', 'start', 'erased', 'owner', 'tokens',
    'counter', 'key', 'dek')
  if field[1] == ARGV[2] and (field[3] or '0') == ARGV[4] and not field[7] then
    if field[2] == ARGV[3] and field[4] == ARGV[5] and field[5] == ARGV[6] then
      local length = call('LLEN', log)
      if length == ARGV[5] - ARGV[4] and call('HLEN', KEYS[2]) > length then
        local isBare = not (field[8] or field[9] or field[10] or field[11] or field[12])
        same = isBare and 1 or { field[8], field[9], field[10], field[11], field[12] }
      end
    elseif (tonumber(field[6] or 0) or -1) >= ARGV[7] + 0 then
      first = ARGV[5] - 1 - ARGV[4]
    end
  end
end

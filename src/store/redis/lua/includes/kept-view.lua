-- what became of the view that the caller keeps: ARGV[2] to ARGV[4] are its `rev`, its checksum and the length of its
-- log, ARGV[5] its epoch, base, end and first position, with spaces between; all empty without one. `same` is what a
-- writer may have changed besides, owner, tokens, counter and data key, where the log is still the kept one and nothing
-- was reduced; 1 if the session has none of them. Else `first` is the index of the last kept record, where the view may
-- continue the kept one: the caller compares the checksums.
--
-- `rev` changes with epoch, base, start and head, and the checksum with the log and its end. Each field and argument
-- takes 0.2 to 0.3 us. Each run of a script creates its local functions again, so this comes before them and has none
-- of its own.

local same, first
if ARGV[2] ~= '' then
  local call, log, state = redis.call, KEYS[1], KEYS[3]
  local field = call('HMGET', state, 'rev', 'sum', 'owner', 'tokens', 'counter', 'key', 'dek')
  if field[1] ~= ARGV[2] or field[2] ~= ARGV[3] then
    local epoch, base, next, start = ARGV[5]:match('^(%S+) (%d+) (%d+) (%d+)$')
    field = call('HMGET', state, 'epoch', 'base', 'start', 'erased')
    local continues = field[1] == epoch and (field[2] or '0') == base and not field[4]
    if continues and (tonumber(field[3] or 0) or -1) >= start + 0 then first = next - 1 - base end
  elseif call('LLEN', log) == ARGV[4] + 0 and call('HLEN', KEYS[2]) > ARGV[4] + 0 then
    local isBare = not (field[3] or field[4] or field[5] or field[6] or field[7])
    same = isBare and 1 or { field[3], field[4], field[5], field[6], field[7] }
  end
end

-- `lastRun(run)`: the newest run of a stream: { at, meta, ending? }; nothing where there is none. `at` begins the ids
-- of its entries, `meta` is what its first entry holds, `ending` what its last one does, once it has ended.

local function lastRun(run)
  local top = redis.call('XREVRANGE', run, '+', '-', 'COUNT', 1)[1]
  if not top then return nil end
  local at = top[1]:match('^%d+')
  local first = redis.call('XRANGE', run, at .. '-0', at .. '-0')[1]
  return { at = at, meta = first and first[2][2] or '', ending = top[2][1] == 'e' and top[2][2] or nil }
end

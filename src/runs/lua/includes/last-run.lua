-- `lastRun(run)`: the newest run of a stream: { at, meta?, ending? }; nothing where there is none. `at` begins the ids
-- of its entries, `meta` is what its first entry holds, `ending` what its last one does, once it has ended.
--
--- @include top-of-run

local function lastRun(run)
  local at, _, fields = topOfRun(run)
  if not at then return nil end
  local first = redis.call('XRANGE', run, at .. '-0', at .. '-0')[1]
  return { at = at, meta = first and first[2][2], ending = fields[1] == 'e' and fields[2] or nil }
end

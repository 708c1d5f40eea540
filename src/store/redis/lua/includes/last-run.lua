-- `lastRun(run)`: the newest run of a stream: { at, meta?, ending?, isErased, isCleared }; nothing where there is none.
-- `at` begins the ids of its entries, `meta` is what its first entry holds, `ending` what its last one does, once it
-- has ended. `isErased`: it is the tombstone that erase-run.lua leaves; `isCleared`: new runs may begin.
--
--- @include top-of-run

local function lastRun(run)
  local at, _, fields = topOfRun(run)
  if not at then return nil end
  local first = redis.call('XRANGE', run, at .. '-0', at .. '-0')[1]
  local isErased = fields[1] == 'x'
  local meta = not isErased and first and first[2][2] or nil
  local ending = fields[1] == 'e' and fields[2] or nil
  return { at = at, meta = meta, ending = ending, isErased = isErased, isCleared = isErased and fields[2] == 'cleared' }
end

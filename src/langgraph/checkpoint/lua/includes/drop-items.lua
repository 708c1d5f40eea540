-- `dropItems(thread, kept, lost, seed)` removes the items that only dropped records named, spans of positions each:
-- those in front of all that is kept, and the texts of the others. Positions that were known before are void then: the
-- thread's token changes. Returns the spans that were emptied.
--
--- @include spans
--- @include next-token

local function dropItems(thread, kept, lost, seed)
  local emptied, at = {}, 1
  kept, lost = merged(kept), merged(lost)
  local front = math.min(kept[1] and kept[1][1] or thread.next - 1, thread.next - 1)
  for _, span in ipairs(lost) do
    local from = math.max(span[1], front)
    while from <= span[2] do
      while kept[at] and kept[at][2] < from do at = at + 1 end
      local stays = kept[at] or { thread.next, thread.next }
      local to = math.min(span[2], stays[1] - 1)
      if from <= to then
        emptied[#emptied + 1] = from
        emptied[#emptied + 1] = to
        for position = from, to do call('LSET', items, position - thread.base, '') end
      end
      from = math.max(to, stays[2]) + 1
    end
  end
  if front > thread.base then call('LTRIM', items, front - thread.base, -1) end
  if front > thread.base or #emptied > 0 then
    thread.base = front
    call('HSET', checkpoints, 'base', front, 'token', nextToken(thread, seed))
  end
  return emptied
end

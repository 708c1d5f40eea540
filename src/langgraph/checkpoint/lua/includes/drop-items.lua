-- `dropItems(thread, kept, lost, seed)` removes the items that only dropped records named, spans of positions each:
-- those in front of all that is kept, and the texts of the others. Positions that were known before are void then: the
-- thread's token changes. Returns true if there are any.
--
--- @include spans
--- @include next-token

local function dropItems(thread, kept, lost, seed)
  local at = 1
  kept, lost = merged(kept), merged(lost)
  local front = math.min(kept[1] and kept[1][1] or thread.next - 1, thread.next - 1)
  local isDropped = front > thread.base
  for _, span in ipairs(lost) do
    local from = math.max(span[1], front)
    while from <= span[2] do
      while kept[at] and kept[at][2] < from do at = at + 1 end
      local stays = kept[at] or { thread.next, thread.next }
      local to = math.min(span[2], stays[1] - 1)
      isDropped = isDropped or from <= to
      for position = from, to do call('LSET', items, position - thread.base, '') end
      from = math.max(to, stays[2]) + 1
    end
  end
  if front > thread.base then call('LTRIM', items, front - thread.base, -1) end
  if isDropped then
    thread.base = front
    call('HSET', checkpoints, 'base', front, 'token', nextToken(thread, seed))
  end
  return isDropped
end

-- `addSpans(thread, ranges, base, spans, seen)` adds the positions that ranges name, `{ from, to }` each, to a list;
-- what stands behind an `@` is items that hold ranges themselves, of which each is read once. False at the first that
-- the thread does not have: so a damaged record neither holds the server nor hides items of others.
-- `merged(spans)` is the list in order, where none touches another.
--
--- @include thread

local function addSpans(thread, ranges, base, spans, seen)
  for group, plus, first, last in ranges:gmatch('(@?)(%+?)(%d+)%-?(%d*)') do
    local start = plus == '+' and base or 0
    local from = first + start
    local to = last ~= '' and last + start or from
    if from < thread.base or to < from or to >= thread.next then return false end
    spans[#spans + 1] = { from, to }
    for at = from, group == '@' and to or from - 1 do
      if not seen[at] then
        seen[at] = true
        local text = call('LINDEX', items, at - thread.base)
        if not text:find('^[%d,%-]+$') or not addSpans(thread, text, 0, spans, seen) then return false end
      end
    end
  end
  return true
end

local function merged(spans)
  table.sort(spans, function(a, b) return a[1] < b[1] end)
  local list, last = {}, nil
  for _, span in ipairs(spans) do
    if last and span[1] <= last[2] + 1 then
      if span[2] > last[2] then last[2] = span[2] end
    else
      last = { span[1], span[2] }
      list[#list + 1] = last
    end
  end
  return list
end

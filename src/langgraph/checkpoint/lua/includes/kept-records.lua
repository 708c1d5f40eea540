-- `loadRecords()` is every record of the thread by its member: `checkpoint`, `writes`.
-- `keepNewest(records, keep)` marks those that stay, `stays`: the newest checkpoints of the root namespace, what other
-- namespaces hold since the oldest of them, and the newest of a namespace that no task began; returns false if there
-- are not more. `keepAncestors(records, most)` marks the checkpoints from which a kept one that needs them takes
-- values, up to the number that the thread has: a damaged record may name itself as its parent.
--
--- @include members
--- @include records

local function isBefore(a, b)
  for i = 1, #b do
    local x, y = a:byte(i) or -1, b:byte(i)
    if x ~= y then return x < y end
  end
  return false
end

local function loadRecords()
  local records, fields = {}, call('HGETALL', checkpoints)
  for i = 1, #fields, 2 do
    local kind, member, ns, id = fields[i]:match('^([cw])(([^%z]*)%z(.*))$')
    if kind then
      local record = records[member] or { ns = ns, id = id }
      record[kind == 'c' and 'checkpoint' or 'writes'] = fields[i + 1]
      records[member] = record
    end
  end
  return records
end

local function keepNewest(records, keep)
  local oldest = newestOf('', keep - 1)
  if not oldest then return false end
  local newest, id = {}, oldest:sub(2)
  for member, record in pairs(records) do
    local ns = record.ns
    if ns ~= '' and not newest[ns] and not ns:find(':', 1, true) then newest[ns] = newestOf(ns) end
    record.stays = not isBefore(record.id, id) or newest[ns] == member
  end
  return true
end

local function keepAncestors(records, most)
  local kept = {}
  for _, record in pairs(records) do
    if record.stays and record.checkpoint then kept[#kept + 1] = record end
  end
  for _, record in ipairs(kept) do
    local _, _, needs, parent = record.checkpoint:match(recordPattern)
    local above = records[record.ns .. '\0' .. (parent or '')]
    for _ = 1, math.min(tonumber(needs or '') or 0, most) do
      if not (above and above.checkpoint) then break end
      above.stays = true
      _, _, _, parent = above.checkpoint:match(recordPattern)
      above = records[record.ns .. '\0' .. (parent or '')]
    end
  end
end

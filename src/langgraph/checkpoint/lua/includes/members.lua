-- `newestOf(ns, skip)` is the member of the newest checkpoint of a namespace, or of the one that `skip` newer ones
-- hide. `oldestRoot()` is the member of the oldest one of the root namespace, "" where there is none: of what stands
-- behind the empty member, that namespace comes first.
--
--- @include thread

local function newestOf(ns, skip)
  return call('ZREVRANGEBYLEX', order, '(' .. ns .. '\1', '[' .. ns .. '\0', 'LIMIT', skip or 0, 1)[1]
end

local function oldestRoot()
  return (call('ZREVRANGE', order, -2, -2)[1] or ''):match('^%z.*$') or ''
end

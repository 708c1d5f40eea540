-- `newestOf(ns, skip)` is the member of the newest checkpoint of a namespace, or of the one that `skip` newer ones
-- hide.
--
--- @include thread

local function newestOf(ns, skip)
  return call('ZREVRANGEBYLEX', order, '(' .. ns .. '\1', '[' .. ns .. '\0', 'LIMIT', skip or 0, 1)[1]
end

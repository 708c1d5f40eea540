-- `refuses(thread, expected)` is the reply to a call that cannot go on: keys are missing, or the positions that the
-- caller knows are those of another life of the thread, or items were dropped since.
--
--- @include thread

local function refuses(thread, expected)
  if thread and thread.isDamaged then return { 'DAMAGED' } end
  if expected and expected ~= (thread and thread.token or '') then return { 'STALE' } end
  return nil
end

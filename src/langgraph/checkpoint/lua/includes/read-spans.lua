-- `readSpans(thread, spans)` is the items at positions: the first position of each run, and the list of its items.
--
--- @include spans

local function readSpans(thread, spans)
  local reply = {}
  for _, span in ipairs(merged(spans)) do
    reply[#reply + 1] = span[1]
    reply[#reply + 1] = call('LRANGE', items, span[1] - thread.base, span[2] - thread.base)
  end
  return reply
end

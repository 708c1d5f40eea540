-- `rememberReduction(time, s, request, total)` adds a reduction to the last `maxReductions` in the field `reductions`,
-- one line of JSON each, and to their number in `reduced`.
--
--- @const maxReductions

local function rememberReduction(time, s, request, total)
  local function size(messages, tokens)
    local count = tokens and string.format(',"tokens":%.17g', tokens) or ''
    return string.format('{"messages":%.0f', messages) .. count .. '}'
  end
  local numbers = string.format('{"at":%.0f,"start":%.0f,"head":%.0f', time, request.start, request.headCount)
  if request.maxTokens then numbers = numbers .. string.format(',"maxTokens":%.17g', request.maxTokens) end
  local before = size(s.headCount + s.next - s.start, s.tokens)
  local after = size(request.headCount + s.next - request.start, total)
  local lines = redis.call('HGET', KEYS[3], 'reductions') or ''
  local count = tonumber(redis.call('HGET', KEYS[3], 'reduced') or 0)
  if count >= maxReductions then lines = lines:sub((lines:find('\n', 1, true) or 0) + 1) end
  if lines ~= '' then lines = lines .. '\n' end
  lines = lines .. numbers .. ',"before":' .. before .. ',"after":' .. after .. '}'
  redis.call('HSET', KEYS[3], 'reductions', lines, 'reduced', count + 1)
end

-- `countUsage(usage, known)` adds the tokens of new records to those of their models. Each item is the number of a
-- record, a model, and tokens of input, output and both. The field `usage` holds a line for each model; with the names
-- in it, one field is all that has to be read. Sums are exact up to 2^53.
--
--- @const maxUsageModels

local function countUsage(usage, known)
  local models, order = {}, {}
  local function of(model)
    if not models[model] and #order >= maxUsageModels then model = 'other' end
    if not models[model] then
      models[model] = { 0, 0, 0 }
      order[#order + 1] = model
    end
    return models[model]
  end
  for line in (redis.call('HGET', KEYS[3], 'usage') or ''):gmatch('[^\n]+') do
    local model, input, output, total = line:match('^(.*)\t(%d+)\t(%d+)\t(%d+)$')
    local sums = model and of(model)
    for i, amount in ipairs(sums and { input, output, total } or {}) do sums[i] = sums[i] + amount end
  end
  for _, item in ipairs(usage) do
    local sums = not known[item[1]] and of(item[2])
    for i = 1, sums and 3 or 0 do sums[i] = math.min(sums[i] + item[2 + i], 9007199254740991) end
  end
  local lines = {}
  for i, model in ipairs(order) do lines[i] = string.format('%s\t%.0f\t%.0f\t%.0f', model, unpack(models[model])) end
  if #lines > 0 then redis.call('HSET', KEYS[3], 'usage', table.concat(lines, '\n')) end
end

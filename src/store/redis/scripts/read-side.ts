import { script } from "./script.js";

/**
 * Side fields whose names begin with a prefix.
 *
 * KEYS: state. ARGV: the prefix as it stands in `state`. Reply: field, value, field, value, …
 */
export const readSideScript = script(
  [],
  `
local found = {}
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if name:sub(1, #ARGV[1]) == ARGV[1] then
    found[#found + 1] = name
    found[#found + 1] = redis.call('HGET', KEYS[1], name)
  end
end
return found
`,
);

import { viewFields } from "./fragments.js";
import { script } from "./script.js";

/**
 * A part of the log with the state, for a server that refuses MULTI.
 *
 * KEYS: log, ids, state. ARGV: index of the first and of the last record. Reply: fields, records, length of the log,
 * number of ids.
 */
export const readPageScript = script(
  [],
  `
local field = redis.call('HMGET', KEYS[3], ${viewFields.map((field) => `'${field}'`).join(", ")})
local records = redis.call('LRANGE', KEYS[1], ARGV[1], ARGV[2])
return { field, records, redis.call('LLEN', KEYS[1]), redis.call('HLEN', KEYS[2]) }
`,
);

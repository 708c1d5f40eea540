import { script } from "./script.js";

/**
 * Extends a lease if the token still holds it.
 *
 * KEYS: lease. ARGV: token, milliseconds. Replies: EXTENDED | NOT_HELD.
 */
export const extendLeaseScript = script(
  [],
  `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'NOT_HELD' end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'EXTENDED'
`,
);

import { expireAll, now } from "./fragments.js";
import { script } from "./script.js";

/**
 * Lets a session that has an expiry live so much longer from now.
 *
 * KEYS: log, ids, state. ARGV: milliseconds. Replies: EXTENDED | UNLIMITED.
 */
export const extendExpiryScript = script(
  [now, expireAll],
  `
if redis.call('PTTL', KEYS[3]) < 0 then return 'UNLIMITED' end
expireAll(now() + ARGV[1])
return 'EXTENDED'
`,
);

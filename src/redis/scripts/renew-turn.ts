import { now } from "./fragments.js";
import { script } from "./script.js";
import { holderOf } from "./turn-queue-fragments.js";

/**
 * Extends the turn of its holder.
 *
 * KEYS: state. ARGV: ticket, milliseconds. Replies: HELD milliseconds-to-live | LOST.
 */
export const renewTurnScript = script(
  [now, holderOf],
  `
local holder, _, fence = holderOf(redis.call('HGET', KEYS[1], 'holder'))
if holder ~= ARGV[1] then return { 'LOST' } end
redis.call('HSET', KEYS[1], 'holder', string.format('%s %.0f %s', holder, now() + ARGV[2], fence))
return { 'HELD', redis.call('PTTL', KEYS[1]) }
`,
);

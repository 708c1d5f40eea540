import { loadSession } from "./fragments.js";
import { readMark } from "./mark-fragments.js";
import { script } from "./script.js";
import { storedTurn } from "./turn-fragments.js";

/**
 * What is stored of a turn.
 *
 * KEYS: log, ids, state. ARGV: the turn's name; the owner who asks, or "". Reply: OWNER | TURN done count first next
 * epoch records; count 0 where it is not known.
 */
export const readTurnScript = script(
  [loadSession, readMark, storedTurn],
  `
local s = loadSession()
if ARGV[2] ~= '' and s.owner and s.owner ~= ARGV[2] then return { 'OWNER' } end
return storedTurn(s, { name = ARGV[1], stored = -1 })
`,
);

import { loadSession } from "./fragments.js";
import { script } from "./script.js";
import { storedTurn } from "./turn-fragments.js";

/**
 * What is stored of a turn.
 *
 * KEYS: log, ids, state. ARGV: the turn's name. Reply: TURN done count first next epoch records; count 0 where it is
 * not known.
 */
export const readTurnScript = script(
  [loadSession, storedTurn],
  "return storedTurn(loadSession(), { name = ARGV[1], stored = -1 })",
);

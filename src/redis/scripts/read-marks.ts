import { wholeFrom } from "./fragments.js";
import { readMark } from "./mark-fragments.js";
import { script } from "./script.js";

/**
 * The marks of turns.
 *
 * KEYS: log, ids, state. ARGV: names of turns. Reply: the session's owner or "", and the marks, each in the form that a
 * field of its own has, "" where there is none.
 */
export const readMarksScript = script(
  [wholeFrom, readMark],
  `
local marks = {}
for i, name in ipairs(ARGV) do marks[i] = markText(readMark(name)) end
return { redis.call('HGET', KEYS[3], 'owner') or '', marks }
`,
);

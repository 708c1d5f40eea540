import { view } from "./fragments.js";
import { script } from "./script.js";

/**
 * The view, where this process does not know the start yet.
 *
 * KEYS: log, ids, state. ARGV: none. Reply: fields, records, number of ids, index of the first record.
 */
export const readViewScript = script([view], "return view()");

import { script } from "./script.js";

/** KEYS: state. Reply: field, value, field, value, … */
export const readStateScript = script([], "return redis.call('HGETALL', KEYS[1])");

import * as fields from "../../src/redis/stored-fields.js";
import { anyDigest } from "../../src/store/session-writes.js";
import { maxUsageModels } from "../../src/store/lists.js";
import { ownerMarkLength } from "../../src/store/record-text.js";
import { maxReductions } from "../../src/store/session-pages.js";
import { mostClockSkew } from "../../src/store/refusals.js";

/** Values that Lua scripts can name with `@const`. A list stands for its texts with commas between them. */
export const luaConstants: Readonly<Record<string, number | string | readonly string[]>> = {
  ...fields,
  anyDigest,
  maxUsageModels,
  maxReductions,
  mostClockSkew,
  ownerMarkLength,
};

import * as fields from "../../../src/store/redis/stored-fields.js";
import { anyDigest } from "../../../src/store/contract/session-writes.js";
import { maxUsageModels } from "../../../src/store/contract/lists.js";
import { ownerMarkLength } from "../../../src/store/contract/record-text.js";
import { maxReductions } from "../../../src/store/contract/session-pages.js";

/** Values that Lua scripts can name with `@const`. A list stands for its texts with commas between them. */
export const luaConstants: Readonly<Record<string, number | string | readonly string[]>> = {
  ...fields,
  anyDigest,
  maxUsageModels,
  maxReductions,
  ownerMarkLength,
};

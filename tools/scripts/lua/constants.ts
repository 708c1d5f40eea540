import * as fields from "../../../src/store/redis/stored-fields.js";
import { anyDigest } from "../../../src/store/contract/session-writes.js";
import { maxUsageModels } from "../../../src/store/contract/session-ref.js";
import { ownerMarkLength } from "../../../src/store/contract/append-decision.js";
import { maxReductions } from "../../../src/store/contract/session-data.js";

/** Values that Lua scripts can name with `@const`. A list stands for its texts with commas between them. */
export const luaConstants: Readonly<Record<string, number | string | readonly string[]>> = {
  ...fields,
  anyDigest,
  maxUsageModels,
  maxReductions,
  ownerMarkLength,
};

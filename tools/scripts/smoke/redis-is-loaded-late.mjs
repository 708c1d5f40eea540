// Whoever keeps conversations in memory, or only reduces messages, does not load ioredis; and none of the optional
// peers is installed here.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
require("langchain-redis-memory");
const loaded = Object.keys(require.cache).filter((path) => /node_modules[\\/]ioredis[\\/]/.test(path));
assert.deepEqual(loaded, []);
for (const optional of ["langchain", "@langchain/openai", "@opentelemetry/api"]) {
  assert.throws(() => require.resolve(optional), { code: "MODULE_NOT_FOUND" });
}

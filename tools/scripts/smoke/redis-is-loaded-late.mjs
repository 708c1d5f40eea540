// Whoever keeps conversations in memory, or only reduces messages, does not load ioredis; who names a server begins to
// load it at once, so that the first call need not wait for it. None of the optional peers is installed here.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { setImmediate } from "node:timers/promises";

const require = createRequire(import.meta.url);
const { RedisChatMemory, InMemorySessionStore } = require("langchain-redis-memory");
const isLoaded = () => Object.keys(require.cache).some((path) => /node_modules[\\/]ioredis[\\/]/.test(path));
new RedisChatMemory({ store: new InMemorySessionStore() });
await setImmediate();
assert.equal(isLoaded(), false);
for (const optional of ["langchain", "@langchain/openai", "@opentelemetry/api"]) {
  assert.throws(() => require.resolve(optional), { code: "MODULE_NOT_FOUND" });
}
const memory = new RedisChatMemory({ url: "redis://127.0.0.1:1" });
await setImmediate();
assert.equal(isLoaded(), true);
await memory.close();

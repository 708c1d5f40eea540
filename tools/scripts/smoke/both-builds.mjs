// An application may hold the ESM and the CommonJS build at once: errors of one are recognized by the other.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import * as imported from "langchain-redis-memory";

const required = createRequire(import.meta.url)("langchain-redis-memory");
assert.notEqual(imported.MemoryError, required.MemoryError);
assert.ok(required.MemoryError.isInstance(new imported.BudgetError("does not fit", { needed: 2, allowed: 1 })));
assert.ok(imported.BudgetError.isInstance(new required.BudgetError("does not fit", { needed: 2, allowed: 1 })));
assert.deepEqual(Object.keys(imported).sort(), Object.keys(required).sort());

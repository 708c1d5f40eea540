import assert from "node:assert/strict";
import { ConfigurationError, MemoryError } from "langchain-redis-memory";

assert.ok(MemoryError.isInstance(new ConfigurationError("sessionId", "sessionId is missing")));

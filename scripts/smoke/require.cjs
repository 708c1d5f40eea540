const assert = require("node:assert/strict");
const { ConfigurationError, MemoryError } = require("langchain-redis-memory");

assert.ok(MemoryError.isInstance(new ConfigurationError("sessionId", "sessionId is missing")));

export { redisMemoryMiddleware, type RedisMemoryMiddlewareOptions } from "../agent/middleware.js";
export type { AgentRuntime } from "../agent/run-place.js";

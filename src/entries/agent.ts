export { redisMemoryMiddleware, type ContextOf, type RedisMemoryMiddlewareOptions } from "../agent/middleware.js";
export type { AgentRuntime } from "../agent/run-place.js";

export { redisMemoryMiddleware, type RedisMemoryMiddlewareOptions } from "../agent/middleware.js";
export { steeringMiddleware, type SteeringMiddlewareOptions } from "../agent/steering.js";
export type { AgentRuntime } from "../agent/run-place.js";

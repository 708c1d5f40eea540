export { redisMemoryMiddleware, type RedisMemoryMiddlewareOptions } from "../doors/agent/middleware.js";
export { steeringMiddleware, type SteeringMiddlewareOptions } from "../doors/agent/steering.js";
export type { AgentRuntime } from "../doors/agent/run.js";

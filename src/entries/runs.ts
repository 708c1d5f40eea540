export {
  redisRuns,
  type RedisRuns,
  type ActiveRun,
  type JoinOptions,
  type RedisRunsOptions,
  type RunAccess,
  type RunWork,
  type StartOptions,
  type StopOptions,
} from "../runs/redis-runs.js";
export type { Run, RunItem, ServerSentEventsOptions } from "../runs/run.js";
export { sse, type EventStreamOptions, type ServerSentEvent, type ServerSentEvents } from "../runs/run.js";
export type { RunEnd, RunEndState } from "../runs/run-log.js";

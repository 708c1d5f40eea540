import type { Attributes } from "@opentelemetry/api";
import type { MemoryEvent } from "../../base/events.js";

/** The prefix of attributes and metrics for which OpenTelemetry has no name. */
export const prefix = "langchain_redis_memory";

/** The attributes of a command's span and of its duration, by the semantic conventions for database clients. */
export function commandAttributes({ operation, error }: Extract<MemoryEvent, { type: "command" }>): Attributes {
  return {
    "db.system.name": "redis",
    "db.operation.name": operation,
    ...(error !== undefined && { "error.type": errorType(error) }),
  };
}

/** How an automatic reduction ended. */
export type ReductionEvent = Extract<MemoryEvent, { type: "reduced" | "reduction_stale" | "reduction_failed" }>;

/** How a reduction ended, in one word: `reduced`, `stale` or `failed`. */
export function outcomeOf({ type }: ReductionEvent): Attributes {
  return { [`${prefix}.reduction.outcome`]: type.replace("reduction_", "") };
}

/** The error code, a label of low cardinality: that of this package's errors, else the error's name. */
export function errorType(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  return [code, name].find((word): word is string => typeof word === "string" && word !== "") ?? "_OTHER";
}

/** The name of an error's class. */
export function exceptionType(error: unknown): string {
  const { name } = (error ?? {}) as { readonly name?: unknown };
  return typeof name === "string" && name !== "" ? name : typeof error;
}

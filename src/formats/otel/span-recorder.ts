import { SpanKind, SpanStatusCode, trace, type Attributes, type Tracer } from "@opentelemetry/api";
import type { MemoryEvent, MemoryEventHandler } from "../../base/events.js";

/** The prefix of attributes and metrics for which OpenTelemetry has no name. */
export const prefix = "langchain_redis_memory";

/** Makes spans of commands, and events on the active span. `sessionIds`: whether spans carry the session's id. */
export function spanRecorder(tracer: Tracer, { sessionIds }: { readonly sessionIds: boolean }): MemoryEventHandler {
  return (event) => {
    const session = sessionIds ? { "gen_ai.conversation.id": event.sessionId } : {};
    if (event.type === "command") {
      recordCommand(tracer, event, session);
    } else {
      trace.getActiveSpan()?.addEvent(`${prefix}.${event.type}`, { ...session, ...eventAttributes(event) });
    }
  };
}

type CommandEvent = Extract<MemoryEvent, { type: "command" }>;

function recordCommand(tracer: Tracer, event: CommandEvent, session: Attributes): void {
  const { operation, error, milliseconds } = event;
  const endTime = Date.now();
  const attributes = { ...commandAttributes(event), ...session };
  const span = tracer.startSpan(operation, { kind: SpanKind.CLIENT, attributes, startTime: endTime - milliseconds });
  if (error !== undefined) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    // Only the type: what an error says may hold what users wrote.
    span.addEvent("exception", { "exception.type": error.name });
  }
  span.end(endTime);
}

/** The attributes of a command's span and of its duration, by the semantic conventions for database clients. */
export function commandAttributes({ operation, error }: CommandEvent): Attributes {
  return {
    "db.system.name": "redis",
    "db.operation.name": operation,
    ...(error !== undefined && { "error.type": errorType(error) }),
  };
}

/** Fields of events for which OpenTelemetry has a name. */
const namesByField: Readonly<Record<string, string>> = {
  operation: "db.operation.name",
  model: "gen_ai.request.model",
  toolCallId: "gen_ai.tool.call.id",
};

/** The fields of an event, sizes by their parts; of an error its type only. No event holds text of messages. */
function eventAttributes({ type: _, sessionId: __, ...fields }: MemoryEvent): Attributes {
  const entries = Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    const key = namesByField[name] ?? `${prefix}.${name}`;
    if (name === "error") {
      return [["error.type", errorType(value)]];
    }
    const isSize = typeof value === "object" && value !== null && !Array.isArray(value);
    return isSize ? Object.entries(value).map(([part, own]) => [`${key}.${part}`, own]) : [[key, value]];
  });
  const isTold = (value: unknown) => value !== undefined && typeof value !== "function";
  return Object.fromEntries(entries.filter(([, value]) => isTold(value))) as Attributes;
}

/** The error code, a label of low cardinality: that of this package's errors, else the error's name. */
function errorType(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  return [code, name].find((word): word is string => typeof word === "string" && word !== "") ?? "_OTHER";
}

import { metrics, trace, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { Meter, Tracer, Attributes, Counter } from "@opentelemetry/api";
import * as z from "zod/mini";
import type { MemoryEvent, MemoryEventHandler } from "../../base/events.js";
import { lazy, objectWith, parseOptions } from "../../base/options.js";

/** Options of {@link openTelemetryHandler}. */
export interface OpenTelemetryHandlerOptions {
  /** Makes the spans. @default the global tracer provider's, named `langchain-redis-memory` */
  readonly tracer?: Tracer;
  /** Makes the metrics. @default the global meter provider's, named `langchain-redis-memory` */
  readonly meter?: Meter;
  /**
   * Whether spans carry the session id, as `gen_ai.conversation.id`. Set it to false if ids must not leave the
   * application. Metrics never carry it. @default true
   */
  readonly sessionIds?: boolean;
}

const instrumentationName = "langchain-redis-memory";

const optionsSchema = lazy(() =>
  z.strictObject({
    tracer: z.optional(objectWith<Tracer>(["startSpan"], "an OpenTelemetry Tracer")),
    meter: z.optional(objectWith<Meter>(["createHistogram", "createCounter"], "an OpenTelemetry Meter")),
    sessionIds: z._default(z.boolean("must be true or false"), true),
  }),
);

/**
 * Returns a handler for `onEvent` that turns events into OpenTelemetry spans and metrics.
 *
 * Each command to Redis is a client span, a child of the span that is active when it is reported; the other events are
 * added to that one. No span or metric holds message text, and errors appear with their type only.
 *
 * @throws ConfigurationError naming the option.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { openTelemetryHandler } from "langchain-redis-memory/otel";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", onEvent: openTelemetryHandler() });
 */
export function openTelemetryHandler(options: OpenTelemetryHandlerOptions = {}): MemoryEventHandler {
  const { tracer, meter, sessionIds } = parseOptions("openTelemetryHandler", optionsSchema(), options);
  const recorders = [
    spanRecorder(tracer ?? trace.getTracer(instrumentationName), { sessionIds }),
    metricsRecorder(meter ?? metrics.getMeter(instrumentationName)),
  ];
  return (event: MemoryEvent) => recorders.forEach((record) => record(event));
}

/** Boundaries of the buckets, in seconds, as the semantic conventions ask for. */
const durationBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** Each counter's unit and description. No attribute names a session. */
const counters = {
  reductions: ["reduction", "Automatic reductions of views, by outcome."],
  repairs: ["repair", "Repairs of messages on their way to a model, by rule."],
  "thoughts.dropped": ["thought", "Thoughts left out behind a changed prefix, by cause."],
  "profiles.guessed": ["model", "Classes of models whose adapter was not known."],
  "requests.too_long": ["request", "Requests that a provider refused as too long."],
  "compactions.dropped": ["request", "Requests without what another provider compacted."],
  "windows.unknown": ["model", "Models whose window is not known."],
  "records.skipped": ["record", "Stored records that could not be read."],
  "sessions.skipped": ["session", "Sessions that a batch operation skipped."],
  conflicts: ["message", "Messages whose id was written again with other content."],
  damaged: ["read", "Calls that found a part of their session missing in Redis."],
  "connections.stalled": ["connection", "Connections with three timeouts in a row."],
  "tool_results.hidden": ["message", "Tool results without a call in the view."],
  titles: ["title", "Titles that a model was asked for, by outcome."],
  turns: ["turn", "Turns that were not written, by reason."],
  "turns.waiting": ["turn", "Turns that had to wait for another one of their session."],
} as const;

type CounterName = keyof typeof counters;

/** Records the duration of commands and the size of requests, and counts the other events. */
function metricsRecorder(meter: Meter): MemoryEventHandler {
  const duration = meter.createHistogram("db.client.operation.duration", {
    description: "Duration of database client operations.",
    unit: "s",
    advice: { explicitBucketBoundaries: durationBuckets },
  });
  const tokens = meter.createHistogram(`${prefix}.requests.tokens`, {
    unit: "{token}",
    description: "Tokens of requests to models whose window is known.",
  });
  const count = countWith(meter);
  const recorders: { readonly [T in MemoryEvent["type"]]: (event: Extract<MemoryEvent, { type: T }>) => void } = {
    command: (event) => duration.record(event.milliseconds / 1000, commandAttributes(event)),
    reduced: () => count("reductions", by("reduction.outcome", "reduced")),
    reduction_stale: () => count("reductions", by("reduction.outcome", "stale")),
    reduction_failed: () => count("reductions", by("reduction.outcome", "failed")),
    repaired: ({ rules }) => rules.forEach((rule) => count("repairs", by("rule", rule))),
    thinking_dropped: ({ cause, dropped }) => count("thoughts.dropped", by("cause", cause), dropped),
    profile_guessed: () => count("profiles.guessed"),
    context_usage: (event) => tokens.record(event.tokens),
    context_overflow: ({ retried }) => count("requests.too_long", by("retried", retried)),
    window_unknown: () => count("windows.unknown"),
    compaction_dropped: ({ became }) => count("compactions.dropped", by("became", became)),
    record_skipped: () => count("records.skipped"),
    session_skipped: ({ operation }) => count("sessions.skipped", { "db.operation.name": operation }),
    conflict_kept: () => count("conflicts"),
    answer_renamed: () => count("conflicts"),
    connection_stalled: () => count("connections.stalled"),
    damaged: ({ operation }) => count("damaged", { "db.operation.name": operation }),
    tool_result_hidden: () => count("tool_results.hidden"),
    titled: () => count("titles", by("outcome", "titled")),
    title_failed: () => count("titles", by("outcome", "failed")),
    turn_waits: () => count("turns.waiting"),
    turn_repeated: () => count("turns", by("reason", "repeated")),
    turn_not_stored: ({ reason }) => count("turns", by("reason", reason)),
  };
  // An event of a newer build of this package is left out.
  return (event) => (recorders[event.type] as ((event: MemoryEvent) => void) | undefined)?.(event);
}

function countWith(meter: Meter): (name: CounterName, attributes?: Attributes, times?: number) => void {
  const made = new Map<CounterName, Counter>();
  for (const name of Object.keys(counters) as CounterName[]) {
    const [unit, description] = counters[name];
    made.set(name, meter.createCounter(`${prefix}.${name}`, { unit: `{${unit}}`, description }));
  }
  return (name, attributes = {}, times = 1) => made.get(name)!.add(times, attributes);
}

function by(name: string, value: string | boolean): Attributes {
  return { [`${prefix}.${name}`]: value };
}

/** The prefix of attributes and metrics for which OpenTelemetry has no name. */
const prefix = "langchain_redis_memory";

/** Makes spans of commands, and events on the active span. `sessionIds`: whether spans carry the session's id. */
function spanRecorder(tracer: Tracer, { sessionIds }: { readonly sessionIds: boolean }): MemoryEventHandler {
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
function commandAttributes({ operation, error }: CommandEvent): Attributes {
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

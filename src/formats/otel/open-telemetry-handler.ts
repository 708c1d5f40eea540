import { metrics, trace, type Meter, type Tracer } from "@opentelemetry/api";
import * as z from "zod/mini";
import type { MemoryEvent, MemoryEventHandler } from "../../base/events.js";
import { lazy, objectWith, parseOptions } from "../../base/options.js";
import { metricsRecorder } from "./metrics-recorder.js";
import { spanRecorder } from "./span-recorder.js";

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

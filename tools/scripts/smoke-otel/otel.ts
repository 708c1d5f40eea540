// What users of the OpenTelemetry entry write, checked against the declarations of the package.
import { metrics, trace } from "@opentelemetry/api";
import { RedisChatMemory, type MemoryEventHandler } from "langchain-redis-memory";
import { openTelemetryHandler, type OpenTelemetryHandlerOptions } from "langchain-redis-memory/otel";

const options: OpenTelemetryHandlerOptions = { tracer: trace.getTracer("app"), meter: metrics.getMeter("app") };
const onEvent: MemoryEventHandler = openTelemetryHandler(options);

/** A memory that is seen in traces. */
export const memory = () => new RedisChatMemory({ url: "redis://localhost", onEvent });

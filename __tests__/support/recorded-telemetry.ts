import { AsyncLocalStorage } from "node:async_hooks";
import { context, ROOT_CONTEXT, type Attributes, type Context, type ContextManager } from "@opentelemetry/api";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

/** One series of a metric: its attributes, and its sum or its histogram. */
export interface RecordedSeries {
  readonly attributes: Attributes;
  readonly value: unknown;
}

/** A reader without timers: it gives the metrics when it is asked. */
class AskedReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** A tracer and a meter that keep what they are given. */
export function recordedTelemetry() {
  const spans = new InMemorySpanExporter();
  const traces = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const reader = new AskedReader();
  const meters = new MeterProvider({ readers: [reader] });
  return {
    tracer: traces.getTracer("test"),
    meter: meters.getMeter("test"),
    spans: () => spans.getFinishedSpans(),
    /** The series by the metric's name, as they stand now. */
    metrics: async (): Promise<Record<string, RecordedSeries[]>> => {
      const { resourceMetrics } = await reader.collect();
      const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
      return Object.fromEntries(
        metrics.map(({ descriptor, dataPoints }) => [
          descriptor.name,
          dataPoints.map(({ attributes, value }) => ({ attributes, value })),
        ]),
      );
    },
  };
}

/** Lets active spans follow asynchronous calls, as an application's SDK does. Returns the end of it. */
export function trackContext(): () => void {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, thisArg, ...args) => storage.run(active, () => work.apply(thisArg as never, args)),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager);
  return () => context.disable();
}

import { AsyncLocalStorage } from "node:async_hooks";
import { context, ROOT_CONTEXT, type Attributes, type Context, type ContextManager } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

/** One series of a metric: its attributes, and its sum or its histogram. */
export interface RecordedSeries {
  readonly attributes: Attributes;
  readonly value: unknown;
}

/** A tracer and a meter that keep what they are given. */
export function recordedTelemetry() {
  const spans = new InMemorySpanExporter();
  const traces = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  return {
    tracer: traces.getTracer("test"),
    meter: meters.getMeter("test"),
    spans: () => spans.getFinishedSpans(),
    /** The series by the metric's name, as they stand at the first call; ends the meter. */
    metrics: async (): Promise<Record<string, RecordedSeries[]>> => {
      await meters.forceFlush();
      const metrics = exporter
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
      await meters.shutdown();
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

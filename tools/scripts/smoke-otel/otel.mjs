// The handler of events, with what the application's own API gives and with a tracer that is passed in.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { HumanMessage } from "@langchain/core/messages";
import { SpanKind, trace } from "@opentelemetry/api";
import { InMemorySessionStore, RedisChatMemory } from "langchain-redis-memory";
import { openTelemetryHandler } from "langchain-redis-memory/otel";

const required = createRequire(import.meta.url)("langchain-redis-memory/otel");
const bundled = await import(new URL("src/entries/otel.js", import.meta.resolve("langchain-redis-memory/otel")));
for (const { openTelemetryHandler: makeHandler } of [{ openTelemetryHandler }, required, bundled]) {
  const spans = [];
  const startSpan = (name, { kind }) => {
    spans.push([name, kind]);
    return trace.getTracer("none").startSpan(name);
  };
  for (const onEvent of [makeHandler(), makeHandler({ tracer: { startSpan } })]) {
    const store = new InMemorySessionStore({ onEvent });
    await new RedisChatMemory({ store, onEvent }).history("smoke").addMessages([new HumanMessage("one")]);
  }
  assert.deepEqual(spans, [["append", SpanKind.CLIENT]]);
}

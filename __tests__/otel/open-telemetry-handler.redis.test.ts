import { context, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { ChatHistoryTruncationReducer, type MemoryEvent, RedisChatMemory } from "../../src/entries/index.js";
import { openTelemetryHandler } from "../../src/entries/otel.js";
import { ai, human } from "../support/messages.js";
import { recordedTelemetry, trackContext } from "../support/recorded-telemetry.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const ended = trackContext();
afterAll(ended);

const secret = "my-secret-text";
const redis = () => ({ url: sharedRedisUrl(), redis: { keyPrefix: uniquePrefix() } });

describe("openTelemetryHandler", () => {
  it("makes a client span of each command to Redis, below the active span, with its duration", async () => {
    const { tracer, meter, spans, metrics } = recordedTelemetry();
    const events: MemoryEvent[] = [];
    const handler = openTelemetryHandler({ tracer, meter });
    const onEvent = (event: MemoryEvent) => (events.push(event), handler(event));
    const memory = new RedisChatMemory({ ...redis(), onEvent });
    const parent = tracer.startSpan("turn");
    await context.with(trace.setSpan(context.active(), parent), async () => {
      await memory.history("ann").addMessages([human(secret)]);
      await memory.history("ann").getMessages();
    });
    await memory.close();
    expect(spans().map(({ name, kind }) => [name, kind])).toEqual([
      ["append", SpanKind.CLIENT],
      ["readView", SpanKind.CLIENT],
    ]);
    spans().forEach((span, index) => {
      const { milliseconds } = events[index] as Extract<MemoryEvent, { type: "command" }>;
      expect(span.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
      expect(span.attributes).toEqual({
        "db.system.name": "redis",
        "db.operation.name": span.name,
        "gen_ai.conversation.id": "ann",
      });
      expect(span.duration[0] * 1_000 + span.duration[1] / 1e6).toBeCloseTo(milliseconds, 0);
      expect(span.status.code).toBe(SpanStatusCode.UNSET);
    });
    const series = (await metrics())["db.client.operation.duration"]!;
    expect(series.map(({ attributes }) => attributes)).toEqual(
      ["append", "readView"].map((name) => ({ "db.system.name": "redis", "db.operation.name": name })),
    );
    const { sum, count } = series[0]!.value as { sum: number; count: number };
    expect([sum * 1_000, count]).toEqual([
      expect.closeTo((events[0] as Extract<MemoryEvent, { type: "command" }>).milliseconds),
      1,
    ]);
  });

  it("adds each automatic reduction to the active span, a failed one without what the error says", async () => {
    const { tracer, meter, spans, metrics } = recordedTelemetry();
    const onEvent = openTelemetryHandler({ tracer, meter });
    const connection = redis();
    const memory = new RedisChatMemory({
      ...connection,
      onEvent,
      reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }),
    });
    const parent = tracer.startSpan("turn");
    const within = <T>(call: () => Promise<T>) => context.with(trace.setSpan(context.active(), parent), call);
    await within(() => memory.history("ann").addMessages([human("a"), ai("b"), human("c"), ai(secret)]));
    await memory.close();
    const failing = new RedisChatMemory({
      ...connection,
      onEvent,
      reducer: () => {
        throw new TypeError(`cannot reduce ${secret}`);
      },
    });
    await within(() => failing.history("ann").addMessages([human("d")]));
    await failing.close();
    parent.end();
    const turn = spans().find(({ name }) => name === "turn");
    expect(turn!.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      [
        "langchain_redis_memory.reduced",
        {
          "gen_ai.conversation.id": "ann",
          "langchain_redis_memory.before.messages": 4,
          "langchain_redis_memory.after.messages": 2,
          "langchain_redis_memory.overBudgetBy": 0,
        },
      ],
      ["langchain_redis_memory.reduction_failed", { "gen_ai.conversation.id": "ann", "error.type": "TypeError" }],
    ]);
    const recorded = await metrics();
    expect(recorded["langchain_redis_memory.reductions"]).toEqual(
      ["reduced", "failed"].map((outcome) => ({
        attributes: { "langchain_redis_memory.reduction.outcome": outcome },
        value: 1,
      })),
    );
    const told = spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
    expect(JSON.stringify([told, recorded])).not.toContain(secret);
  });

  it("marks a command that failed with the code of its error", async () => {
    const { tracer, meter, spans, metrics } = recordedTelemetry();
    const onEvent = openTelemetryHandler({ tracer, meter });
    // ioredis would keep the process alive for two seconds.
    const config = { host: "127.0.0.1", port: 1, disconnectTimeout: 50 };
    const memory = new RedisChatMemory({ config, redis: { commandTimeout: 5_000 }, onEvent });
    const thrown = await memory
      .history("ann")
      .getMessages()
      .catch((error: { code: string }) => error);
    await memory.close();
    const { code } = thrown as { code: string };
    expect(spans()[0]).toMatchObject({
      name: "readView",
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": code },
      events: [{ attributes: { "exception.type": "StoreError" } }],
    });
    expect((await metrics())["db.client.operation.duration"]![0]!.attributes["error.type"]).toBe(code);
  });
});

describe("the other events", () => {
  const events: MemoryEvent[] = [
    { type: "record_skipped", sessionId: "ann", position: 3, error: new RangeError(secret) },
    { type: "session_skipped", sessionId: "ann", operation: "reencrypt", error: new RangeError(secret) },
    { type: "damaged", sessionId: "ann", operation: "append" },
    { type: "conflict_kept", sessionId: "ann", messageId: "m1" },
    { type: "tool_result_hidden", sessionId: "ann", messageId: undefined, toolCallId: "c1" },
    { type: "connection_stalled", sessionId: "ann", operation: "append", timeouts: 3 },
    { type: "repaired", sessionId: "ann", rules: ["S07", "S08", "S07"] },
    { type: "thinking_dropped", sessionId: "ann", cause: "system", firstAt: 1, sent: 2, dropped: 3 },
    { type: "thinking_dropped", sessionId: "ann", cause: "messages", firstAt: 5, sent: 0, dropped: 1 },
    { type: "compaction_dropped", sessionId: "ann", messageId: "m1", provider: "openai", became: "transcript" },
  ];
  const run = (handler: (event: MemoryEvent) => void, parent: Span) =>
    context.with(trace.setSpan(context.active(), parent), () => events.forEach(handler));

  it("are counted, and added to the active span", async () => {
    const { tracer, meter, spans, metrics } = recordedTelemetry();
    const parent = tracer.startSpan("turn");
    run(openTelemetryHandler({ tracer, meter }), parent);
    parent.end();
    expect(spans()).toHaveLength(1);
    const names = [
      "record_skipped",
      "session_skipped",
      "damaged",
      "conflict_kept",
      "tool_result_hidden",
      "connection_stalled",
      "repaired",
      "thinking_dropped",
      "thinking_dropped",
      "compaction_dropped",
    ];
    expect(spans()[0]!.events.map(({ name }) => name)).toEqual(names.map((name) => `langchain_redis_memory.${name}`));
    expect(spans()[0]!.events[0]!.attributes).toEqual({
      "gen_ai.conversation.id": "ann",
      "error.type": "RangeError",
      "langchain_redis_memory.position": 3,
    });
    expect(spans()[0]!.events[7]!.attributes).toEqual({
      "gen_ai.conversation.id": "ann",
      "langchain_redis_memory.cause": "system",
      "langchain_redis_memory.firstAt": 1,
      "langchain_redis_memory.sent": 2,
      "langchain_redis_memory.dropped": 3,
    });
    expect(spans()[0]!.events[9]!.attributes).toEqual({
      "gen_ai.conversation.id": "ann",
      "langchain_redis_memory.messageId": "m1",
      "langchain_redis_memory.provider": "openai",
      "langchain_redis_memory.became": "transcript",
    });
    const sums = Object.entries(await metrics()).map(([name, series]) => [name, ...series.map(({ value }) => value)]);
    expect(Object.fromEntries(sums.map(([name, ...values]) => [name, values]))).toEqual({
      "langchain_redis_memory.records.skipped": [1],
      "langchain_redis_memory.sessions.skipped": [1],
      "langchain_redis_memory.damaged": [1],
      "langchain_redis_memory.conflicts": [1],
      "langchain_redis_memory.tool_results.hidden": [1],
      "langchain_redis_memory.connections.stalled": [1],
      "langchain_redis_memory.repairs": [2, 1],
      "langchain_redis_memory.thoughts.dropped": [3, 1],
      "langchain_redis_memory.compactions.dropped": [1],
    });
  });

  it("name no session with sessionIds: false, nor in any metric", async () => {
    const { tracer, meter, spans, metrics } = recordedTelemetry();
    const parent = tracer.startSpan("turn");
    const handler = openTelemetryHandler({ tracer, meter, sessionIds: false });
    run(handler, parent);
    handler({ type: "command", sessionId: "ann", operation: "append", milliseconds: 1 });
    handler({ type: "reduction_stale", sessionId: "ann" });
    parent.end();
    const told = spans().map(({ name, attributes, events }) => ({ name, attributes, events }));
    expect(told).toHaveLength(2);
    expect(JSON.stringify([told, await metrics()])).not.toContain("ann");
  });

  it("need no active span, no SDK, and may be of a kind that this build does not know", () => {
    const handler = openTelemetryHandler();
    events.forEach((event) => expect(() => handler(event)).not.toThrow());
    const unknown = { type: "new_kind", sessionId: "ann" } as unknown as MemoryEvent;
    expect(() => handler(unknown)).not.toThrow();
  });
});

describe("the options", () => {
  it.each([
    [{ tracer: {} }, "tracer"],
    [{ meter: { createCounter: () => undefined } }, "meter"],
    [{ sessionIds: "no" }, "sessionIds"],
    [{ trcer: undefined }, "trcer"],
  ])("are refused where they cannot be used: %o", (options, option) => {
    expect(() => openTelemetryHandler(options as never)).toThrow(
      expect.objectContaining({ code: "invalid_option", option }),
    );
  });
});

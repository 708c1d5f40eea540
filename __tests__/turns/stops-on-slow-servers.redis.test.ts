import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { startFaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { until } from "../../tools/testkit/servers/until.js";
import { lookup, sketch, SlowModel } from "../support/agents.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { events, newMemory } from "../support/memories.js";
import { human } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { untilAnswered } from "../support/until-answered.js";

const closed = closedAfterEach();

/** A run with `onAbort: "keep"` that streams the model's words. */
type Stream = (
  memory: RedisChatMemory,
  model: SlowModel,
  how: { readonly persist: "step" | "turn"; readonly signal: AbortSignal },
) => Promise<AsyncIterable<unknown>>;

const turn = { configurable: { sessionId: "ann", turnId: "t" } };
const doors: [string, Stream][] = [
  [
    "a chain",
    (memory, model, { persist, signal }) =>
      withRedisMemory(model, { memory, onAbort: "keep", persist }).stream([human("q")], { ...turn, signal }),
  ],
  [
    "an agent",
    (memory, model, { persist, signal }) => {
      const middleware = [redisMemoryMiddleware({ memory, onAbort: "keep", persist })];
      const agent = createAgent({ model, tools: [lookup], middleware });
      return agent.stream({ messages: [human("q")] }, { ...turn, signal, streamMode: "messages" });
    },
  ],
];
const cases = doors.flatMap(([door, stream]) =>
  (["step", "turn"] as const).map((each) => [door, each, stream] as const),
);

/** A memory whose server can be slow or silent, and one that reaches it directly. */
async function proxied(options: { readonly commandTimeout?: number } = {}) {
  const proxy = closed(await startFaultProxy(Number(new URL(sharedRedisUrl()).port)));
  const keyPrefix = uniquePrefix();
  const place = { url: proxy.url, redis: { keyPrefix, ...options } };
  const memory = newMemory(place);
  await untilAnswered(() => memory.history("warm").getMessages());
  return { proxy, memory, direct: newMemory({ redis: { keyPrefix } }) };
}

async function read(stream: Promise<AsyncIterable<unknown>>, onChunk: () => void = () => undefined): Promise<void> {
  for await (const _ of await stream) {
    onChunk();
  }
}

it.each(cases)(
  "%s that is stopped while its session is being read keeps its question (persist: %s)",
  async (_, persist, stream) => {
    const { proxy, memory, direct } = await proxied();
    const [model, controller] = [new SlowModel(["unused"]), new AbortController()];
    const words: string[] = [];
    model.onWord = (word) => void words.push(word);
    proxy.resetFlights();
    proxy.holdReplies();
    const running = read(stream(memory, model, { persist, signal: controller.signal }));
    void until("the read is sent", async () => proxy.flights() > 0).then(() => controller.abort());
    await expect(running).rejects.toThrow();
    proxy.releaseReplies();
    await memory.drain();
    expect(sketch(await direct.history("ann").getTranscript())).toEqual(["q"]);
    expect(words).toEqual([]);
  },
);

it.each(doors)("%s tells by an event where what was said before a stop could not be stored", async (_, stream) => {
  const { proxy, memory } = await proxied({ commandTimeout: 1_500 });
  const controller = new AbortController();
  const words = new SlowModel(["one ", "two ", "three ", "four ", "five ", "six "]);
  const running = read(stream(memory, words, { persist: "turn", signal: controller.signal }), () => {
    proxy.dropReplies();
    controller.abort();
  });
  await expect(running).rejects.toThrow();
  await memory.drain();
  const error = expect.objectContaining({ name: "StoreError" }) as Error;
  const event = { type: "turn_not_stored", sessionId: "ann", turnId: "t", reason: "failed", error };
  expect(events).toContainEqual(event);
});

import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { usageOf } from "../../src/memory/session/append-input.js";
import type { TokenCounter } from "../../src/conversation/tokens/counted-messages.js";
import { ai, human } from "../support/messages.js";

/** Counts a message's characters, and how often it was asked. */
function askedCounter(id: string): TokenCounter & { asked: number } {
  const counter = {
    id,
    asked: 0,
    perRequest: 3,
    countText: (text: string) => text.length,
    countMessage: () => 0 as number,
  };
  return Object.assign(counter, {
    countMessage: (message: { text: string }) => {
      counter.asked += 1;
      return message.text.length;
    },
  }) as TokenCounter & { asked: number };
}

const turns = (count: number) =>
  Array.from({ length: count }, (_, index) => [human(`question ${index}`), ai(`answer ${index}`)]).flat();

describe("token counts of stored messages", () => {
  it("are computed once, when a message is written, and never again on any instance", async () => {
    const store = new InMemorySessionStore();
    const [first, second] = [askedCounter("characters"), askedCounter("characters")];
    const memoryOf = (tokenCounter: TokenCounter) =>
      new RedisChatMemory({ store, reducer: new ChatHistoryTokenReducer({ maxTokens: 150, tokenCounter }) });
    const writing = memoryOf(first).history("ann");
    await writing.addMessages(turns(10));
    expect(first.asked).toBe(20);
    expect((await writing.getMessages()).length).toBeLessThan(20);
    const reading = memoryOf(second).history("ann");
    await reading.reduceView();
    await reading.addMessages(
      turns(10).map((message, index) =>
        index % 2 === 0 ? human(`${message.text} again`) : ai(`${message.text} again`),
      ),
    );
    expect(second.asked).toBe(20);
    expect(first.asked).toBe(20);
  });

  it("are computed again for another counter, once per process", async () => {
    const store = new InMemorySessionStore();
    const old = new RedisChatMemory({ store, tokenCounter: askedCounter("old") });
    await old.history("ann").addMessages(turns(10));
    const counter = askedCounter("new");
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 10_000, tokenCounter: counter });
    const history = new RedisChatMemory({ store, reducer }).history("ann");
    await history.reduceView();
    expect(counter.asked).toBe(20);
    await history.reduceView();
    await history.addMessages([human("one more")]);
    expect(counter.asked).toBe(21);
    await history.clear();
    await history.addMessages(turns(1));
    await history.reduceView();
    expect(counter.asked).toBe(23);
  });
});

describe("the usage of tokens that an answer reports", () => {
  const answer = (usage: unknown, response: object = {}) =>
    Object.assign(ai("yes"), { usage_metadata: usage, response_metadata: response });
  const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 9 };
  const ofCalls = (...calls: readonly unknown[]) => ({ model: "m", usage: { iterations: calls } });

  it.each<[string, object, object, readonly [string, number, number, number]]>([
    ["as it is", usage, { model_name: "m" }, ["m", 3, 4, 9]],
    ["with the sum of both where it has no total", { input_tokens: 3, output_tokens: 4 }, {}, ["unknown", 3, 4, 7]],
    [
      "with 0 for what is no count",
      { input_tokens: -1, output_tokens: 1.5, total_tokens: "9" },
      {},
      ["unknown", 0, 0, 0],
    ],
    [
      "with the calls that compacted the conversation, and no others",
      usage,
      ofCalls({ type: "compaction", input_tokens: 10, output_tokens: 20 }, { type: "message", input_tokens: 1 }, null),
      ["m", 13, 24, 39],
    ],
    [
      "without calls that are no list",
      usage,
      { model: "m", usage: { iterations: { type: "compaction" } } },
      ["m", 3, 4, 9],
    ],
    ["without a name where nothing tells it", usage, null as never, ["unknown", 3, 4, 9]],
    ["by the first name of a model", usage, { model_name: "", model: 7, modelId: "id" }, ["id", 3, 4, 9]],
    ["by a name in one line", usage, { model: `a\nb${"x".repeat(200)}` }, [`a b${"x".repeat(125)}`, 3, 4, 9]],
  ])("is counted %s", (_, reported, response, [model, input, output, total]) => {
    expect(usageOf(answer(reported, response))).toEqual({ model, input, output, total });
  });

  it.each<[string, MemorySettings]>([
    ["as it is", {}],
    ["with a counter", { tokenCounter: askedCounter("characters") }],
    ["of the stored form", { beforeStore: (message) => message }],
  ])("is summed up %s", async (_, settings) => {
    const memory = new RedisChatMemory({ ...settings, store: new InMemorySessionStore(), trackUsage: true });
    await memory.history("s").addMessages([human("q"), answer(usage, { model_name: "m" })]);
    expect((await memory.sessions.get("s"))!.usage).toEqual({ m: usage });
  });

  it("is none of a message without usage, or of one that is no answer", () => {
    expect(usageOf(ai("yes"))).toBeUndefined();
    expect(usageOf(answer("many"))).toBeUndefined();
    expect(usageOf(Object.assign(human("yes"), { usage_metadata: usage }))).toBeUndefined();
  });
});

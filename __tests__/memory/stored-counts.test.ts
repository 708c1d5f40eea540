import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { ChatHistoryTokenReducer } from "../../src/reducers/token-reducer.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import type { TokenCounter } from "../../src/tokens/token-counter.js";
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

import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";

const store = new InMemorySessionStore();
const url = "redis://localhost:1";

describe("client, url, config and store", () => {
  it("compile one at a time, and are refused at run time in any other number", () => {
    // @ts-expect-error: none is given
    expect(() => new RedisChatMemory({ sessionTTL: 60 })).toThrow("exactly one");
    // @ts-expect-error: two are given
    expect(() => new RedisChatMemory({ url, config: {} })).toThrow("exactly one");
    // @ts-expect-error: two are given
    expect(() => new RedisChatMemory({ url, store })).toThrow("url");
    // @ts-expect-error: two are given
    expect(() => new RedisChatMessageHistory({ sessionId: "s", url, store })).toThrow("url");
    expect(new RedisChatMemory({ store }).history("s").sessionId).toBe("s");
  });
});

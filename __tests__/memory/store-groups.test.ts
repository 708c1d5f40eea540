import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";

/** A complete store on which some methods are replaced. */
function storeWith(methods: object): InMemorySessionStore {
  return Object.assign(new InMemorySessionStore(), methods);
}

describe("a store is checked where it is given", () => {
  it.each([null, 7, "memory", () => undefined, {}, storeWith({ append: undefined }), storeWith({ lists: undefined })])(
    "%p is no store",
    (store) => {
      const message = 'option "store" must be an InMemorySessionStore or a RedisSessionStore.';
      const expected = { code: "invalid_option", option: "store", message: expect.stringContaining(message) };
      expect(() => new RedisChatMemory({ store } as never)).toThrow(expect.objectContaining(expected));
    },
  );

  it("a given store is left open by close()", async () => {
    let closed = 0;
    await new RedisChatMemory({ store: storeWith({ close: async () => void (closed += 1) }) }).close();
    expect(closed).toBe(0);
  });
});

import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { human } from "../support/messages.js";

it("a clock that is off by less than a store refuses is right from the second write on", async () => {
  const now = () => Date.now() + 20_000;
  const history = new RedisChatMemory({ store: new InMemorySessionStore({ now }) }).history("s");
  await history.addMessages([human("q")]);
  await history.addMessages([human("q")]);
  const { items } = await history.getPage();
  expect(items.map(({ at }) => Math.abs(at! - now()) > 10_000)).toEqual([true, false]);
});

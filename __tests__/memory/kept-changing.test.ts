import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { RedisChatMessageHistory } from "../../src/memory/redis-chat-message-history.js";
import { human } from "../support/messages.js";

/** A history whose store loses every compare-and-set to another process. */
async function racedHistory(): Promise<RedisChatMessageHistory> {
  const store = new InMemorySessionStore();
  const history = new RedisChatMessageHistory({ sessionId: "a b", store });
  await history.addMessages([human("one", "m1"), human("two", "m2")]);
  const stale = () => Promise.resolve("stale");
  Object.assign(store.edits, { rewind: stale, replaceTail: stale });
  Object.assign(store.copies, { create: () => Promise.resolve(undefined) });
  return history;
}

it.each<[string, (history: RedisChatMessageHistory) => Promise<unknown>]>([
  ["rewind", (history) => history.rewind("m2")],
  ["fork", (history) => history.fork("b")],
  ["replaceFrom", (history) => history.replaceFrom("m2", [human("new", "m3")])],
])("%s of a session that changes during each try is refused, and says what to call again", async (method, call) => {
  await expect(call(await racedHistory())).rejects.toMatchObject({
    name: "ConflictError",
    code: "stale",
    sessionId: "a b",
    message: `Session a%20b kept changing during ${method}(); call it again.`,
  });
});

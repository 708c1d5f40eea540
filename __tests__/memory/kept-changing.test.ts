import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { maxTries } from "../../src/base/tries.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ai, human } from "../support/messages.js";
import { asRead } from "../../testing/session-store/store-case.js";

const messages = () => [human("one", "m1"), human("two", "m2"), ai("three", { id: "m3" })];

/** A history whose store loses every compare-and-set to another process, and how often it was asked. */
async function racedHistory(settings: MemorySettings = {}) {
  const store = new InMemorySessionStore();
  const history = new RedisChatMemory({ store, ...settings }).history("a b");
  await history.addMessages(messages());
  let tries = 0;
  const losing =
    <Word>(word: Word) =>
    async () => {
      tries += 1;
      return word;
    };
  Object.assign(store, { commitReduction: losing("stale") });
  Object.assign(store.edits, { rewind: losing("stale"), replaceTail: losing("stale") });
  Object.assign(store.copies, { create: losing(undefined) });
  return { history, tries: () => tries };
}

it.each<[string, (history: RedisChatMessageHistory) => Promise<unknown>]>([
  ["rewind", (history) => history.rewind("m2")],
  ["fork", (history) => history.fork("b")],
  ["replaceFrom", (history) => history.replaceFrom("m2", [human("new", "m4")])],
])("%s of a session that changes during each try is refused, and says what to call again", async (method, call) => {
  const { history, tries } = await racedHistory();
  await expect(call(history)).rejects.toMatchObject({
    name: "ConflictError",
    code: "stale",
    sessionId: "a b",
    message: `Session a%20b kept changing during ${method}(); call it again.`,
  });
  expect(tries()).toBe(maxTries.edit);
});

it("reduceView of a session that changes during each try is refused, and says so", async () => {
  const { history, tries } = await racedHistory({ reducer: (given) => given.slice(-1), reduceWhen: "never" });
  await expect(history.reduceView()).rejects.toMatchObject({ name: "ConflictError", code: "stale", sessionId: "a b" });
  expect(tries()).toBe(maxTries.edit);
});

describe("a rewind that another process overtakes", () => {
  /** A history whose first rewind comes behind what another process did. */
  async function historyBehind(other: (store: InMemorySessionStore) => Promise<unknown>) {
    const store = new InMemorySessionStore();
    const history = new RedisChatMemory({ store }).history("s", { owner: "ann" });
    await history.addMessages(messages());
    const rewind = store.edits.rewind.bind(store.edits);
    store.edits.rewind = async (...call) => {
      store.edits.rewind = rewind;
      await other(store);
      return rewind(...call);
    };
    return history;
  }

  it.each(["m1", "m2"])("succeeds where another rewind to %s came first", async (id) => {
    const history = await historyBehind((store) => new RedisChatMemory({ store }).history("s").rewind(id));
    await history.rewind(id);
    expect(await history.getTranscript()).toHaveLength(id === "m1" ? 0 : 1);
  });

  it("removes what another process appended first", async () => {
    const history = await historyBehind((store) =>
      new RedisChatMemory({ store }).history("s").addMessages([human("four", "m4")]),
    );
    await history.rewind("m1");
    expect(await history.getTranscript()).toEqual([]);
  });

  it("is refused where it was discarded", async () => {
    const history = await historyBehind(async (store) => {
      const view = await store.readView({ id: "s" });
      const discard = true;
      await store.commitReduction({ id: "s" }, { ...asRead(view), start: 2, head: "", headCount: 0, discard });
    });
    await expect(history.rewind("m1")).rejects.toMatchObject({ code: "unknown_message", messageId: "m1" });
    expect(await history.getTranscript()).toHaveLength(1);
  });
});

import { withKey } from "../../testing/session-store/store-case.js";
import { readLog } from "../../src/store/contract/session-data.js";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { MemoryEvent } from "../../src/base/events.js";
import type { OwnerExportOptions } from "../../src/memory/sessions/requests.js";
import type { EncryptionOptions } from "../../src/store/sealed/keys/key-ring.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { testKey, testKeys } from "../support/test-keys.js";
import { all } from "../support/all.js";

const client = sharedClient();

const turn = [new HumanMessage({ id: "q", content: "secret" }), new AIMessage({ id: "a", content: "secret" })];
const wrong = { current: { ...testKey("k2"), id: "k1" } };

describe.each(["Redis", "memory"])("sessions whose key is missing, in a store in %s", (kind) => {
  let store: SessionStore;
  beforeEach(() => {
    store =
      kind === "Redis" ? new RedisSessionStore({ client, keyPrefix: uniquePrefix() }) : new InMemorySessionStore();
  });
  const memoryWith = (encryption?: EncryptionOptions) =>
    new RedisChatMemory({ store, ...(encryption && { encryption }) });
  const ann = { owner: "ann" };

  async function seeded(): Promise<void> {
    await memoryWith().history("plain", { owner: "ann", title: "Plain" }).addMessages(turn);
    const sealed = memoryWith(testKeys("k1"));
    await sealed.history("sealed", { owner: "ann", title: "Secret", metadata: { a: "secret" } }).addMessages(turn);
    await sealed.drain();
  }

  it.each([
    ["no key", undefined],
    ["other keys", testKeys("k2")],
    ["a wrong key", wrong],
  ] as const)("are listed as locked by a process with %s, and the others as they are", async (_, encryption) => {
    await seeded();
    const { sessions } = await memoryWith(encryption).sessions.list(ann);
    const bySession = new Map(sessions.map((session) => [session.sessionId, session]));
    expect(bySession.get("plain")).toMatchObject({ title: "Plain", messages: 2 });
    expect(bySession.get("plain")).not.toHaveProperty("locked");
    expect(bySession.get("sealed")).toMatchObject({ locked: true, metadata: {}, messages: 2 });
    expect(bySession.get("sealed")).not.toHaveProperty("title");
  });

  it.each([{ title: "Secret" }, { metadata: { a: "secret" } }])("are listed as locked by %j alone", async (names) => {
    const sealed = memoryWith(testKeys("k1"));
    await sealed.history("sealed", { owner: "ann", ...names }).addMessages(turn);
    await sealed.drain();
    const { sessions } = await memoryWith().sessions.list(ann);
    expect(sessions).toMatchObject([{ sessionId: "sealed", locked: true, metadata: {} }]);
    expect(sessions[0]).not.toHaveProperty("title");
  });

  it.each([
    ["unknown_key", undefined],
    ["unknown_key", testKeys("k2")],
    ["wrong_key", wrong],
  ] as const)("refuse get, update and export with %s, and change nothing", async (code, encryption) => {
    await seeded();
    const { sessions } = memoryWith(encryption);
    const exported = async (id: string) => {
      return all(sessions.export(id));
    };
    const refused = { name: "EncryptionError", code };
    await expect(sessions.get("sealed")).rejects.toMatchObject(refused);
    await expect(sessions.update("sealed", { title: "x" })).rejects.toMatchObject(refused);
    await expect(exported("sealed")).rejects.toMatchObject(refused);
    await memoryWith(testKeys("k1")).history("untitled").addMessages(turn);
    await expect(exported("untitled")).rejects.toMatchObject(refused);
    expect(await exported("plain")).toHaveLength(4);
    const read = await memoryWith(testKeys("k1")).sessions.get("sealed");
    expect(read).toMatchObject({ title: "Secret", metadata: { a: "secret" } });
  });

  it("leave the other sessions of their owner in the export, which ends with an error or names them", async () => {
    await seeded();
    const untitled = memoryWith(testKeys("k1")).history("untitled", ann);
    await untitled.addMessages(turn);
    const long = memoryWith().history("mixed", ann);
    await long.addMessages(Array.from({ length: 600 }, (_, index) => new HumanMessage(`plain ${index}`)));
    await memoryWith(testKeys("k1")).history("mixed", ann).addMessages(turn);
    const [lines, problems]: [string[], string[]] = [[], []];
    const events: MemoryEvent[] = [];
    const other = new RedisChatMemory({ store, onEvent: (event) => events.push(event) });
    const collect = async (options?: OwnerExportOptions) => {
      for await (const line of other.sessions.exportOwner("ann", options)) {
        lines.push(line);
      }
    };
    await collect({ onProblem: ({ sessionId }) => problems.push(sessionId) });
    expect(problems.sort()).toEqual(["mixed", "sealed", "untitled"]);
    expect(events.filter(({ type }) => type === "session_skipped")).toHaveLength(3);
    const typesOf = (id: string) =>
      lines
        .map((line) => JSON.parse(line) as { type: string; sessionId: string })
        .filter((one) => one.sessionId === id);
    expect(typesOf("plain").at(-1)).toMatchObject({ type: "end", records: 2 });
    expect(["sealed", "untitled", "mixed"].map(typesOf)).toEqual([[], [], []]);
    const written = lines.splice(0).length;
    await expect(collect()).rejects.toMatchObject({ name: "EncryptionError", code: "unknown_key" });
    expect(lines).toHaveLength(written);
  });

  it("have forks that are sealed, read as their source and stand in the owner's list", async () => {
    await seeded();
    const memory = memoryWith(testKeys("k1"));
    await memory.history("sealed", ann).fork("copy", { title: "Secret branch" });
    await memory.drain();
    expect(await memory.history("copy", ann).getMessages()).toEqual(turn);
    const { sessions } = await memory.sessions.list(ann);
    expect(sessions[0]).toMatchObject({ sessionId: "copy", title: "Secret branch", metadata: { a: "secret" } });
    const stored = [
      await readLog(store, await withKey(store, { id: "copy" })),
      await store.lists!.describe({ id: "copy" }),
    ];
    expect(JSON.stringify(stored)).not.toMatch(/[sS]ecret/);
    await expect(memoryWith(testKeys("k1")).history("copy", { owner: "bob" }).getPage()).rejects.toMatchObject({
      code: "other_owner",
    });
    await expect(memoryWith().history("copy").getMessages()).rejects.toMatchObject({ code: "unknown_key" });
  });

  it("are no titles that look encrypted", async () => {
    const title = `~k1 ${"x".repeat(40)}`;
    await memoryWith().history("s").addMessages(turn);
    await expect(memoryWith().sessions.update("s", { title })).rejects.toMatchObject({ option: "title" });
  });
});

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { EncryptionError, StoreError } from "../../src/base/errors.js";
import { type CreateRequest, readLog } from "../../src/store/contract/session-data.js";
import type { SessionRef } from "../../src/store/contract/session-ref.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { EncryptionOptions } from "../../src/store/sealed/keys/key-ring.js";
import { around } from "../../src/store/contract/groups.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { testKey, testKeys } from "../support/test-keys.js";
import { all } from "../support/all.js";
import { withKey } from "../../testing/session-store/store-case.js";
import type { MemoryEvent } from "../../src/base/events.js";
import type { OwnerExportOptions } from "../../src/memory/sessions/requests.js";

const client = sharedClient();

const turn = (name: string) => [
  new HumanMessage({ id: `${name}-q`, content: `question ${name}` }),
  new AIMessage({ id: `${name}-a`, content: `answer ${name}` }),
];

describe.each(["Redis", "memory"])("the data key of a session in a store in %s", (kind) => {
  let store: SessionStore;
  beforeEach(() => {
    const options = { client, keyPrefix: uniquePrefix() };
    store = kind === "Redis" ? new RedisSessionStore(options) : new InMemorySessionStore();
  });
  /** A process of its own: it knows no data key yet. */
  const process = (encryption: EncryptionOptions = testKeys("k1")) => new RedisChatMemory({ store, encryption });
  const keyOf = async (id: string) => (await store.edits.readKey({ id }))?.stored?.key;

  it("is one for eight processes that begin it at once", async () => {
    const names = Array.from({ length: 8 }, (_, index) => String(index));
    await Promise.all(names.map((name) => process().history("s").addMessages(turn(name))));
    const messages = await process().history("s").getMessages();
    expect(messages.map(({ id }) => id).sort()).toEqual(names.flatMap((name) => [`${name}-a`, `${name}-q`]).sort());
    expect(await keyOf("s")).toMatch(/^[\w-]{8} k1$/);
  });

  it.each(["clear", "delete", "restart"] as const)(
    "is another one after %s, also where a process knows it",
    async (how) => {
      const [knowing, other] = [process(), process()];
      await knowing.history("s").addMessages(turn("1"));
      const first = await keyOf("s");
      if (how === "clear") {
        await other.history("s").clear();
      } else if (how === "delete") {
        await other.sessions.delete("s", { guardMs: 1 });
        await new Promise((resolve) => setTimeout(resolve, 20));
      } else {
        await other.withTurn("s", (history) => history.clear());
      }
      expect(await keyOf("s")).toBeUndefined();
      await knowing.history("s").addMessages(turn("2"));
      expect(await keyOf("s")).not.toBe(first);
      expect(await process().history("s").getMessages()).toEqual(turn("2"));
      await knowing.history("s").clear();
      await process().history("s").addMessages(turn("3"));
      expect(await knowing.history("s").getMessages()).toEqual(turn("3"));
      await knowing.history("s").addMessages(turn("4"));
      expect(await process().history("s").getMessages()).toEqual([...turn("3"), ...turn("4")]);
    },
  );

  it("is another one in a fork and in an import", async () => {
    const memory = process();
    await memory.history("s").addMessages(turn("1"));
    await memory.history("s").fork("copy");
    const lines = await all(memory.sessions.export("s"));
    await memory.sessions.import(lines.map((line) => line.replaceAll('"s"', '"imported"')));
    const keys = await Promise.all(["s", "copy", "imported"].map(keyOf));
    expect(new Set(keys).size).toBe(3);
    for (const id of ["copy", "imported"]) {
      expect(await process().history(id).getMessages()).toEqual(turn("1"));
      expect(await process().history(id).append(turn("1"))).toMatchObject({ duplicates: 2 });
    }
  });

  describe.each(["clear", "delete", "a refused fork", "an hour"] as const)(
    "opens a reply that was on its way during %s, of",
    (event) => {
      const reads: Readonly<Record<string, (memory: RedisChatMemory) => Promise<unknown>>> = {
        messages: (memory) => memory.history("s").getMessages(),
        transcript: (memory) => memory.history("s").getTranscript(),
        rounds: (memory) => memory.history("s").getRounds(1),
        page: async (memory) => (await memory.history("s").getPage()).items.length,
        title: async (memory) => (await memory.sessions.get("s"))?.title,
      };
      const events: Readonly<Record<typeof event, (memory: RedisChatMemory) => Promise<unknown>>> = {
        clear: (memory) => memory.history("s").clear(),
        delete: (memory) => memory.sessions.delete("s"),
        "a refused fork": async (memory) => {
          await memory.history("other").addMessages(turn("2"));
          await expect(memory.history("other").fork("s")).rejects.toMatchObject({ code: "exists" });
        },
        "an hour": async () => {
          const later = performance.now() + 3_600_001;
          jest.spyOn(performance, "now").mockImplementation(() => later);
        },
      };
      const cases = Object.keys(reads).flatMap((name) => [true, false].map((isKnown) => ({ name, isKnown })));
      afterEach(() => jest.restoreAllMocks());

      it.each(cases)("$name, key known before: $isKnown", async ({ name, isKnown }) => {
        const [writer, held] = [process(), { isOn: false, release: () => undefined as void }];
        const slow = around(store, async (_, go) => {
          const reply = await go();
          await (held.isOn && new Promise<void>((resolve) => Object.assign(held, { isOn: false, release: resolve })));
          return reply;
        });
        const memory = new RedisChatMemory({ store: slow, encryption: testKeys("k1") });
        await writer.history("s").addMessages(turn("1"));
        await writer.sessions.update("s", { title: "First" });
        const expected = await reads[name]!(isKnown ? memory : process());
        held.isOn = true;
        const reading = reads[name]!(memory);
        while (held.isOn) {
          await new Promise(setImmediate);
        }
        await events[event](memory);
        held.release();
        expect(await reading).toEqual(expected);
      });
    },
  );

  it.each([
    { lost: "before the end", by: "the same process" },
    { lost: "before the end", by: "another process" },
    { lost: "the reply", by: "the same process" },
    { lost: "the reply", by: "another process" },
  ])("is that of the copy where a fork lost $lost and $by repeats it", async ({ lost, by }) => {
    await process().history("s").addMessages(turn("1"));
    let failures = 1;
    const passing = around(store, (_, go) => go());
    const losing = {
      ...passing,
      copies: {
        ...passing.copies,
        create: async (session: SessionRef, request: CreateRequest) => {
          const finish = async (next: number) => {
            if (lost === "before the end" && failures-- > 0) {
              throw new StoreError("lost", { code: "timeout", operation: "create" });
            }
            return request.finish(next);
          };
          const created = await store.copies.create(session, { ...request, finish });
          if (lost === "the reply" && failures-- > 0) {
            throw new StoreError("lost", { code: "timeout", operation: "create" });
          }
          return created;
        },
      },
    };
    const memory = new RedisChatMemory({ store: losing, encryption: testKeys("k1") });
    await expect(memory.history("s").fork("copy")).rejects.toMatchObject({ code: "timeout" });
    const again = (by === "the same process" ? memory : process()).history("s").fork("copy");
    await again.catch((error: unknown) => expect(error).toMatchObject({ code: "exists" }));
    for (const reader of [process(), memory]) {
      expect(await reader.history("copy").getMessages()).toEqual(turn("1"));
      expect(await reader.history("copy").getTranscript()).toEqual(turn("1"));
    }
    await memory.history("copy").addMessages(turn("2"));
    expect(await process().history("copy").getMessages()).toEqual([...turn("1"), ...turn("2")]);
  });

  it("opens nothing of another session", async () => {
    await process().history("s").addMessages(turn("1"));
    await process().history("t").addMessages(turn("1"));
    const [own, foreign] = await Promise.all(
      ["s", "t"].map(async (id) => (await store.edits.readKey({ id }))!.stored!),
    );
    expect(await store.edits.rewrapKey({ id: "s" }, { was: own!, now: foreign! })).toBe(true);
    await expect(process().history("s").getMessages()).rejects.toMatchObject({ code: "wrong_key" });
    await expect(process().history("s").addMessages(turn("2"))).rejects.toMatchObject({ code: "wrong_key" });
  });
});

describe("a source of master keys", () => {
  const store = new InMemorySessionStore();
  const sourced = (key: (id: string) => Promise<Uint8Array>) =>
    new RedisChatMemory({ store, encryption: { currentKeyId: () => "k1", key } });

  it("is asked once for many sessions at once, however slow it is, and again after an hour", async () => {
    const asked: string[] = [];
    const slow = sourced(async (id) => {
      asked.push(id);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return testKey(id).key;
    });
    await Promise.all(["a", "b", "c"].map((id) => slow.history(id).addMessages(turn(id))));
    expect(asked).toEqual(["k1"]);
    const clock = jest.spyOn(performance, "now").mockReturnValue(performance.now() + 3_600_001);
    await slow.history("a").addMessages(turn("later"));
    clock.mockRestore();
    expect(asked).toEqual(["k1", "k1"]);
    expect(await slow.history("a").getMessages()).toEqual([...turn("a"), ...turn("later")]);
  });

  it("that throttles makes calls fail so that they can be repeated, and nothing is written", async () => {
    let calls = 0;
    const throttling = sourced(async (id) => {
      calls += 1;
      if (calls < 3) {
        throw new Error("Rate exceeded");
      }
      return testKey(id).key;
    });
    const history = throttling.history("throttled");
    for (const _ of [1, 2]) {
      const error = await history.addMessages(turn("1")).catch((thrown: unknown) => thrown);
      expect(EncryptionError.isInstance(error) && [error.code, error.keyId, error.retryable]).toEqual([
        ...["unknown_key", "k1"],
        true,
      ]);
      expect(await store.edits.readKey({ id: "throttled" })).toBeUndefined();
    }
    await history.addMessages(turn("1"));
    expect(await history.getMessages()).toEqual(turn("1"));
    expect(calls).toBe(3);
  });
});

const lockedTurn = [new HumanMessage({ id: "q", content: "secret" }), new AIMessage({ id: "a", content: "secret" })];
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
    await memoryWith().history("plain", { owner: "ann", title: "Plain" }).addMessages(lockedTurn);
    const sealed = memoryWith(testKeys("k1"));
    await sealed
      .history("sealed", { owner: "ann", title: "Secret", metadata: { a: "secret" } })
      .addMessages(lockedTurn);
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
    await sealed.history("sealed", { owner: "ann", ...names }).addMessages(lockedTurn);
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
    await memoryWith(testKeys("k1")).history("untitled").addMessages(lockedTurn);
    await expect(exported("untitled")).rejects.toMatchObject(refused);
    expect(await exported("plain")).toHaveLength(4);
    const read = await memoryWith(testKeys("k1")).sessions.get("sealed");
    expect(read).toMatchObject({ title: "Secret", metadata: { a: "secret" } });
  });

  it("leave the other sessions of their owner in the export, which ends with an error or names them", async () => {
    await seeded();
    const untitled = memoryWith(testKeys("k1")).history("untitled", ann);
    await untitled.addMessages(lockedTurn);
    const long = memoryWith().history("mixed", ann);
    await long.addMessages(Array.from({ length: 600 }, (_, index) => new HumanMessage(`plain ${index}`)));
    await memoryWith(testKeys("k1")).history("mixed", ann).addMessages(lockedTurn);
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
    expect(await memory.history("copy", ann).getMessages()).toEqual(lockedTurn);
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
    await memoryWith().history("s").addMessages(lockedTurn);
    await expect(memoryWith().sessions.update("s", { title })).rejects.toMatchObject({ option: "title" });
  });
});

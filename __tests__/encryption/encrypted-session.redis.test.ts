import { inspect } from "node:util";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { withKey } from "../../testing/session-store/store-case.js";
import { readLog } from "../../src/store/contract/session-data.js";
import { ConflictError, MemoryError } from "../../src/base/errors.js";
import { type EncryptionOptions, KeyRing } from "../../src/store/sealed/keys/key-ring.js";
import { sealedStore } from "../../src/store/sealed/store.js";
import { SessionKey } from "../../src/store/sealed/keys/session-key.js";
import { RedisToolInvocationHistory } from "../../src/formats/tool-log/tool-invocation-history.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { testKey, testKeys } from "../support/test-keys.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { doors, secret } from "../support/doors.js";
import { newMemory, texts } from "../support/memories.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { storedBytes } from "../support/stored-bytes.js";

const client = sharedClient();

const turn = (name: string) => [
  new HumanMessage({ id: `${name}-q`, content: `secret question ${name}` }),
  new AIMessage({ id: `${name}-a`, content: `secret answer ${name}` }),
];
const lost = (code: string) => expect.objectContaining({ name: "EncryptionError", code });

describe.each(["Redis", "memory"])("an encrypted session in a store in %s", (kind) => {
  let store: SessionStore;
  let prefix: string;
  beforeEach(() => {
    prefix = uniquePrefix();
    store = kind === "Redis" ? new RedisSessionStore({ client, keyPrefix: prefix }) : new InMemorySessionStore();
  });
  const memoryWith = (encryption?: EncryptionOptions, rest: object = {}) =>
    new RedisChatMemory({ store, ...(encryption && { encryption }), ...rest });

  it("reads as it was written, beside plain sessions, and mixed with plain records", async () => {
    const plain = memoryWith();
    await plain.history("old").addMessages(turn("1"));
    await plain.history("other").addMessages(turn("x"));
    const sealed = memoryWith(testKeys("k1"));
    await sealed.history("old").addMessages(turn("2"));
    const expected = [...turn("1"), ...turn("2")];
    expect(await sealed.history("old").getMessages()).toEqual(expected);
    expect(await sealed.history("old").getTranscript()).toEqual(expected);
    expect(await plain.history("other").getMessages()).toEqual(turn("x"));
    const { records } = await readLog(store, await withKey(store, { id: "old" }));
    expect(records.map((record) => record.includes("secret"))).toEqual([true, true, false, false]);
    expect(records[2]).toMatch(
      /^\{"type":"human","data":\{"id":"2-q"\},"sealed":"[\w-]{8}","meta":\{"v":2,"at":\d+\}\}\n[\u0000-\u007f]+$/,
    );
  });

  it("opens no record of a kept view that this process sealed", async () => {
    const open = jest.spyOn(SessionKey.prototype, "open");
    const memory = memoryWith(testKeys("k1"));
    for (const id of ["s", "t"]) {
      await memory.history(id).addMessages(turn("1"));
      expect(await memory.history(id).getMessages()).toEqual(turn("1"));
    }
    const isKept = kind === "Redis";
    expect(open).toHaveBeenCalledTimes(isKept ? 0 : 4);
    const other = memoryWith(testKeys("k1")).history("s");
    expect([await other.getMessages(), await other.getMessages()]).toEqual([turn("1"), turn("1")]);
    expect(open).toHaveBeenCalledTimes(isKept ? 2 : 8);
    open.mockRestore();
  });

  it("compares side data that is partly plain and partly encrypted", async () => {
    const write = (set: Record<string, string>, expected?: Record<string, string | undefined>) =>
      sealedStore(store, KeyRing.of(testKeys("k1"))).data.writeSide(
        { id: "s" },
        { set, ...(expected && { expected }) },
      );
    await store.data.writeSide({ id: "s" }, { set: { plain: "secret 1", both: "secret" } });
    await write({ sealed: "secret 2" });
    expect(await write({ plain: "3" }, { plain: "secret 2", sealed: "secret 2" })).toBe(false);
    expect(await write({ plain: "3" }, { plain: "secret 1", sealed: "secret 1" })).toBe(false);
    expect(await write({ plain: "3" }, { plain: "secret 1", sealed: "secret 2", none: undefined })).toBe(true);
    expect(await write({ plain: "4" }, { plain: "3", sealed: "secret 2" })).toBe(true);
  });

  const run = { name: "t", toolCallId: "c", inputs: {}, outputs: "found", status: "success" };
  const toolLog = (memory: RedisChatMemory) => new RedisToolInvocationHistory({ memory, sessionId: "s" });
  const doors: readonly [string, (memory: RedisChatMemory) => Promise<unknown>][] = [
    ["getMessages", (memory) => memory.history("s").getMessages()],
    ["getTranscript", (memory) => memory.history("s").getTranscript()],
    ["getRounds", (memory) => memory.history("s").getRounds(1)],
    ["append", (memory) => memory.history("s").addMessages(turn("new"))],
    ["append of what is stored", (memory) => memory.history("s").addMessages(turn("1"))],
    ["append of a stored turn", (memory) => memory.history("s").append(turn("1"), { turnId: "t1" })],
    ["append of side data", (memory) => memory.history("s").append([], { side: { set: { a: "1" } } })],
    ["rewind", (memory) => memory.history("s").rewind("1-a")],
    ["rebuild", (memory) => memory.history("s").rebuild()],
    ["reduceView", (memory) => memory.history("s").reduceView()],
    ["the tool log's toList", (memory) => toolLog(memory).toList()],
    ["the tool log's addInvocation", (memory) => toolLog(memory).addInvocation(run)],
  ];
  const locked: readonly [string, string, EncryptionOptions | undefined][] = [
    ["without keys", "unknown_key", undefined],
    ["with other keys", "unknown_key", testKeys("k2")],
    ["with another key of that id", "wrong_key", { current: { ...testKey("k2"), id: "k1" } }],
  ];
  const calls = locked.flatMap(([who, code, keys]) => doors.map(([door, call]) => ({ who, code, keys, door, call })));

  it.each(calls)("refuses $door $who with $code, and nothing changes", async ({ code, keys, call }) => {
    const side = { set: { "tool:1": "{}" } };
    await memoryWith(testKeys("k1")).history("s").append(turn("1"), { turnId: "t1", side });
    const everything = async () => {
      const session = await withKey(store, { id: "s" });
      return [await store.readView(session), await store.data.readSide(session, "")];
    };
    const before = await everything();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 1 });
    const events: MemoryEvent[] = [];
    const memory = memoryWith(keys, { reducer, onEvent: (event: MemoryEvent) => events.push(event) });
    await expect(call(memory)).rejects.toEqual(lost(code));
    expect(await everything()).toEqual(before);
    expect(events.filter(({ type }) => type === "record_skipped")).toEqual([]);
  });

  it.each(["error", "keep"] as const)(
    "takes a resend for one under any key, with onConflict %s",
    async (onConflict) => {
      const events: MemoryEvent[] = [];
      const options = { onConflict, onEvent: (event: MemoryEvent) => events.push(event) };
      await memoryWith(undefined, options).history("s").addMessages(turn("1"));
      await memoryWith(testKeys("k1"), options).history("s").addMessages(turn("2"));
      const history = memoryWith(testKeys("k2", "k1"), options).history("s");
      const all = [...turn("1"), ...turn("2"), ...turn("3")];
      expect(await history.append(all)).toMatchObject({ appended: 2, duplicates: 4, next: 6 });
      expect(await history.append(all)).toMatchObject({ appended: 0, duplicates: 6, next: 6 });
      expect(await history.append(turn("2"), { expectedNext: 2 })).toMatchObject({ duplicates: 2, next: 6 });
      expect(events.filter(({ type }) => type === "conflict_kept")).toEqual([]);
      const changed = [turn("2")[0]!, new AIMessage({ id: "2-a", content: "other" })];
      if (onConflict === "error") {
        const conflict = await history.append(changed).catch((error: unknown) => error);
        expect(ConflictError.isInstance(conflict) && [conflict.code, conflict.messageId]).toEqual(["content", "2-a"]);
      } else {
        expect(await history.append(changed)).toMatchObject({ appended: 0, duplicates: 1 });
        expect(events).toContainEqual(expect.objectContaining({ type: "conflict_kept", messageId: "2-a" }));
      }
      expect(await history.getTranscript()).toHaveLength(6);
    },
  );

  it("is rebuilt and rewound with its keys, and a resend stays a repetition", async () => {
    const asked: string[] = [];
    const source = {
      currentKeyId: () => "k2",
      key: async (id: string) => {
        asked.push(id);
        return testKey(id).key;
      },
    };
    await memoryWith(testKeys("k1")).history("s").addMessages(turn("1"));
    const history = memoryWith(source).history("s");
    await history.rebuild();
    expect(await history.append([...turn("1"), ...turn("2")])).toMatchObject({ appended: 2, duplicates: 2 });
    await history.rewind("2-q");
    expect(await history.getMessages()).toEqual(turn("1"));
    expect(await memoryWith(source).history("s").getMessages()).toEqual(turn("1"));
    expect(asked).toEqual(["k1"]);
    await memoryWith(testKeys("k1")).history("z").addMessages(turn("1"));
  });

  it("can be read by a process that still writes plain text, before encryption is switched on", async () => {
    const early = memoryWith({ current: null, previous: [testKey("k1")] });
    await early.history("s").addMessages(turn("1"));
    expect((await readLog(store, await withKey(store, { id: "s" }))).records.join()).toContain("secret");
    await memoryWith(testKeys("k1")).history("s").addMessages(turn("2"));
    await early.history("s").addMessages(turn("3"));
    expect(await early.history("s").append(turn("2"))).toMatchObject({ duplicates: 2 });
    expect(await early.history("s").getMessages()).toEqual([...turn("1"), ...turn("2"), ...turn("3")]);
  });

  it("shows no key in what is printed of a memory", async () => {
    const keys = testKeys("k1", "k2");
    const memory = memoryWith(keys);
    const history = memory.history("s");
    await history.addMessages(turn("1"));
    const other = memoryWith({ current: { ...testKey("k9"), id: "k1" } });
    const error = await other
      .history("s")
      .getMessages()
      .catch((thrown: unknown) => thrown);
    const shown = inspect([memory, history, other, error, { ...(error as object) }], { depth: 12, showHidden: true });
    for (const { key } of [keys.current!, ...keys.previous!, testKey("k9")]) {
      for (const form of ["hex", "base64", "base64url"] as const) {
        expect(shown).not.toContain(Buffer.from(key).toString(form).slice(0, 20));
      }
      expect(shown).not.toContain(inspect(Buffer.from(key)).slice(8, 30));
    }
  });

  if (kind === "Redis") {
    it.each(["state", "ids"] as const)("is read and rebuilt by its key where %s is lost", async (part) => {
      await memoryWith(testKeys("k1")).history("s").append(turn("1"), { turnId: "t" });
      await client.del(sessionKeys(prefix, "s")[part]);
      for (const keys of [undefined, testKeys("k2")]) {
        await expect(memoryWith(keys).history("s").getMessages()).rejects.toEqual(lost("unknown_key"));
        await expect(memoryWith(keys).history("s").rebuild()).rejects.toEqual(lost("unknown_key"));
      }
      expect(await memoryWith(testKeys("k1")).history("s").getMessages()).toEqual(turn("1"));
      expect(await memoryWith(testKeys("k1")).history("s").getTranscript()).toEqual(turn("1"));
      await memoryWith(testKeys("k1")).history("s").rebuild();
      expect(await memoryWith(testKeys("k1")).history("s").append(turn("1"))).toMatchObject({ duplicates: 2 });
      await memoryWith(testKeys("k1")).history("s").addMessages(turn("2"));
      await client.del(sessionKeys(prefix, "s").state);
      expect(await memoryWith(testKeys("k1")).history("s").getMessages()).toEqual([...turn("1"), ...turn("2")]);
    });

    it("is refused before a rebuild that would forget its ids where all but the log is lost", async () => {
      await memoryWith(testKeys("k1")).history("s").addMessages(turn("1"));
      const { log, ids, state } = sessionKeys(prefix, "s");
      await client.del(ids, state);
      await expect(memoryWith(testKeys("k1")).history("s").rebuild()).rejects.toEqual(lost("unknown_key"));
      await expect(memoryWith(testKeys("k1")).history("s").getMessages()).rejects.toEqual(lost("unknown_key"));
      await expect(memoryWith(undefined).history("s").rebuild()).rejects.toEqual(lost("unknown_key"));
      await expect(memoryWith(undefined, { onDamage: "rebuild" }).history("s").addMessages(turn("2"))).rejects.toEqual(
        lost("unknown_key"),
      );
      expect(await client.exists(log, ids, state)).toBe(1);
      await memoryWith(testKeys("k1")).history("s").clear();
      await memoryWith(testKeys("k1")).history("s").addMessages(turn("2"));
    });

    it("is rebuilt with the records that its key does not open", async () => {
      const history = memoryWith(testKeys("k1")).history("s");
      await history.addMessages([...turn("1"), ...turn("2")]);
      const { log, ids, state } = sessionKeys(prefix, "s");
      const [question, answer] = [(await client.lindex(log, 0))!, (await client.lindex(log, -1))!];
      await client.lset(log, 0, `${question}x`);
      await client.lset(log, -1, `${answer}x`);
      await client.del(ids);
      await history.rebuild();
      await expect(history.getMessages()).rejects.toEqual(lost("wrong_key"));
      expect(await history.append(turn("3"))).toMatchObject({ appended: 2 });
      await client.lset(log, 3, answer);
      await client.hset(state, "head", question);
      await history.rebuild();
      await client.lset(log, 0, question);
      expect(await history.getMessages()).toEqual([...turn("1"), ...turn("2"), ...turn("3")]);
    });

    it("counts a write as written where the view that came with it holds a changed record", async () => {
      const reducer = new ChatHistoryTruncationReducer({ targetCount: 1 });
      const history = memoryWith(testKeys("k1"), { reducer, reduceWhen: "never" }).history("s");
      await history.addMessages(turn("1"));
      const { log } = sessionKeys(prefix, "s");
      await client.lset(log, 0, `${(await client.lindex(log, 0))!}x`);
      // Of another process, which keeps no view of the session.
      const other = { client, redis: { keyPrefix: prefix }, encryption: testKeys("k1"), reducer };
      const reducing = new RedisChatMemory(other).history("s");
      expect(await reducing.append(turn("2"))).toMatchObject({ appended: 2, next: 4 });
      await expect(reducing.getMessages()).rejects.toEqual(lost("wrong_key"));
      expect(await reducing.append(turn("2"))).toMatchObject({ appended: 0, duplicates: 2 });
    });

    it("costs the round trips that a plain one does, and one more for the first write of a process to it", async () => {
      const events: MemoryEvent[] = [];
      const own = (encryption: EncryptionOptions) =>
        new RedisChatMemory({
          client,
          redis: { keyPrefix: prefix },
          encryption,
          onEvent: (event) => void events.push(event),
        });
      const calls = async (work: () => Promise<unknown>) => {
        events.length = 0;
        await work();
        return events.filter(({ type }) => type === "command").length;
      };
      const first = own(testKeys("k1")).history("s");
      await first.addMessages(turn("0"));
      expect(await calls(() => first.addMessages(turn("1")))).toBe(1);
      expect(await calls(() => first.getMessages())).toBe(1);
      const writer = own(testKeys("k2", "k1")).history("s");
      expect(await calls(() => writer.addMessages(turn("1")))).toBe(2);
      expect(await calls(() => writer.addMessages(turn("2")))).toBe(1);
      const reader = own(testKeys("k2", "k1")).history("s");
      expect(await calls(() => reader.getMessages())).toBe(1);
      expect(await calls(() => reader.addMessages(turn("3")))).toBe(1);
      expect(await calls(() => reader.addMessages(turn("3")))).toBe(1);
      expect(await calls(() => own(testKeys("k1")).history("new").addMessages(turn("1")))).toBe(1);
    });
  }
});

const summarizer = new ScriptedModel(() => `${secret} summary`);

/** An agent of LangChain passes on what a middleware throws as the cause of its own error. */
function memoryErrorIn(error: unknown): unknown {
  return MemoryError.isInstance(error) ? error : (error as Error).cause;
}

describe.each(Object.entries(doors))("%s with encryption", (_, door) => {
  const use = (keyPrefix: string, encryption: EncryptionOptions | undefined, settings: MemorySettings = {}) => {
    const memory = newMemory({ redis: { keyPrefix }, ...settings, ...(encryption && { encryption }) });
    return async (turnId: string) => {
      const result = await door(memory, turnId);
      await memory.drain();
      return result;
    };
  };

  it("gives back what was stored, and leaves no word of it in any byte of Redis", async () => {
    const keyPrefix = uniquePrefix();
    const reducer = () => new ChatHistorySummarizationReducer({ model: summarizer, targetCount: 2, thresholdCount: 0 });
    for (const turnId of ["t1", "t2", "t3"]) {
      await use(keyPrefix, { ...testKeys("k1"), plain: "refuse" }, { reducer: reducer() })(turnId);
    }
    const all = [...(await storedBytes(client, keyPrefix))].flat().join("\n");
    expect(all).toMatch(/"sealed":"[\w-]{8}"|~[\w-]{8} /);
    expect(all).not.toContain(secret);
    expect(all).not.toContain(Buffer.from(secret).toString("base64").slice(0, 8));
    const again = await use(keyPrefix, { ...testKeys("k2", "k1"), plain: "refuse" }, { reducer: reducer() })("t4");
    expect(JSON.stringify(again)).toContain(secret);
    const transcript = await newMemory({ redis: { keyPrefix }, encryption: testKeys("k2", "k1") })
      .history("s")
      .getTranscript();
    const questions = texts(transcript).filter((text) => text === `${secret} question`);
    expect(questions).toHaveLength(transcript.length > 0 ? 4 : 0);
  });

  it("is seen by the search where nothing is encrypted", async () => {
    const keyPrefix = uniquePrefix();
    await use(keyPrefix, undefined)("t1");
    expect([...(await storedBytes(client, keyPrefix))].flat().join()).toContain(secret);
  });

  it.each([
    ["unknown_key", "without keys", undefined],
    ["unknown_key", "with other keys", testKeys("k2")],
    ["wrong_key", "with another key of that id", { current: { ...testKey("k2"), id: "k1" } }],
  ] as const)("is refused with %s to a process %s, and changes nothing", async (code, _who, encryption) => {
    const keyPrefix = uniquePrefix();
    await use(keyPrefix, testKeys("k1"))("t1");
    // Without the owner's list, where a session moves to the front before a write that is refused.
    const before = await storedBytes(client, `${keyPrefix}:{s}`);
    for (const turnId of ["t1", "t2"]) {
      const refusal = await use(keyPrefix, encryption)(turnId).catch(memoryErrorIn);
      expect(refusal).toMatchObject({ name: "EncryptionError", code });
    }
    expect(await storedBytes(client, `${keyPrefix}:{s}`)).toEqual(before);
  });

  it("seals what beforeStore returns, and nothing else", async () => {
    const keyPrefix = uniquePrefix();
    const beforeStore = (message: BaseMessage) => {
      message.content = String(message.text).replaceAll(secret, "hidden");
      return message;
    };
    await use(keyPrefix, testKeys("k1"), { beforeStore })("t1");
    const stored = await newMemory({ redis: { keyPrefix }, encryption: testKeys("k1") })
      .history("s")
      .getTranscript();
    expect(texts(stored).join(" ")).not.toContain(secret);
    const all = [...(await storedBytes(client, keyPrefix))].flat().join("\n");
    expect(all).not.toMatch(/sesame|hidden/);
  });
});

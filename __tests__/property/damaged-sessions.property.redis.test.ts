import { readLog } from "../../src/store/contract/session-data.js";
import { storedTurn } from "../../testing/session-store/store-case.js";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { MemoryError, StoreError } from "../../src/base/errors.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

/** More with DAMAGED_SESSIONS_RUNS=5000. */
const runs = Number(process.env["DAMAGED_SESSIONS_RUNS"] ?? 120);

const fields = ["epoch", "rev", "base", "start", "next", "head", "headCount", "tokens", "counter", "rounds"];
const others = ["fence", "updated", "turns", "discarded", "discarded:1", "discarded:2", "cut", "reductions"];
const junk = fc.constantFrom(
  ...[
    "",
    "x",
    "-1",
    "0",
    "1",
    "2.5",
    "1e3",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "Infinity",
    "0x10",
    " 7",
    "7 ",
    "99",
    "1e400",
  ],
  ...[
    "99999999999999",
    "999999999999999999999999",
    "9007199254740993",
    "[]",
    "[{}]",
    "{",
    '[{"type":"human"}]',
    "1 9 9",
  ],
);
const records = fc.constantFrom(
  "",
  "junk",
  "{}",
  "null",
  '{"type":"human","data":{"content":"by hand"}}',
  '{"type":"human"',
);
const types = fc.constantFrom("string", "list", "hash", "set");

type Damage = (client: Redis, keys: ReturnType<typeof sessionKeys>) => Promise<unknown>;

interface Damaging {
  readonly text: string;
  readonly apply: Damage;
}

const damage: fc.Arbitrary<Damaging> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constantFrom(...fields, ...others), junk).map(([field, value]): Damaging => ({
      text: `state ${field}=${value}`,
      apply: (client, { state }) => client.hset(state, field, value),
    })),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...fields, ...others).map((field): Damaging => ({
      text: `state without ${field}`,
      apply: (client, { state }) => client.hdel(state, field),
    })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("log" as const, "ids" as const, "state" as const).map((part): Damaging => ({
      text: `no ${part}`,
      apply: (client, keys) => client.unlink(keys[part]),
    })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("log" as const, "ids" as const, "state" as const), types)
      .map(([part, type]): Damaging => ({
        text: `${part} is a ${type}`,
        apply: async (client, keys) => {
          await client.unlink(keys[part]);
          const write = {
            string: () => client.set(keys[part], "x"),
            list: () => client.rpush(keys[part], "x"),
            hash: () => client.hset(keys[part], "x", "y"),
            set: () => client.sadd(keys[part], "x"),
          };
          return write[type as keyof typeof write]();
        },
      })),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(30), junk).map(([index, value]): Damaging => ({
      text: `ids[${index}]=${value}`,
      apply: async (client, { ids }) => {
        const names = (await client.hkeys(ids)).sort();
        return names.length === 0 ? 0 : client.hset(ids, names[index % names.length]!, value);
      },
    })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(4), fc.nat(4)).map(([from, to]): Damaging => ({
      text: `log trimmed ${from} ${to}`,
      apply: (client, { log }) => client.ltrim(log, from, -1 - to),
    })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.boolean(), records).map(([atEnd, record]): Damaging => ({
      text: `${atEnd ? "rpush" : "lpush"} ${record}`,
      apply: (client, { log }) => (atEnd ? client.rpush(log, record) : client.lpush(log, record)),
    })),
  },
);

describe("A session whose keys were changed by hand", () => {
  const client = sharedClient();

  const contents = async (keys: ReturnType<typeof sessionKeys>) => {
    const all = [keys.log, keys.ids, keys.state];
    return Promise.all(all.map(async (key) => (await client.dumpBuffer(key))?.toString("base64")));
  };

  /** A session with a head, a turn, a token total, side fields, and discarded or kept messages before its view. */
  async function written(kept: "keep" | "discard") {
    const keyPrefix = uniquePrefix();
    const options = { client, redis: { keyPrefix }, retention: kept };
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 4 });
    const events: string[] = [];
    const tokenCounter = { id: "c", perRequest: 0, countText: () => 1, countMessage: () => 1 };
    const open = () =>
      new RedisChatMemory({ ...options, reducer, tokenCounter, onEvent: ({ type }) => events.push(type) }).history("s");
    const history = open();
    for (let turn = 0; turn < 4; turn += 1) {
      const messages = [human(`q${turn}`, `q${turn}`), ai(`a${turn}`, { id: `a${turn}` })];
      await history.append(messages, { turnId: `t${turn}`, side: { set: { field: "x" } } });
    }
    return { keys: sessionKeys(keyPrefix, "s"), store: new RedisSessionStore({ client, keyPrefix }), history, open };
  }

  async function typed(call: () => Promise<unknown>): Promise<unknown> {
    try {
      return await call();
    } catch (error) {
      if (!MemoryError.isInstance(error) || (StoreError.isInstance(error) && error.code === "script_failed")) {
        throw error;
      }
      return error;
    }
  }

  it("never fails with an untyped error, writes right or not at all, and is whole after a rebuild", async () => {
    const property = fc.asyncProperty(
      fc.constantFrom("keep" as const, "discard" as const),
      fc.array(damage, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (retention, damages, knows) => {
        const { keys, store, history, open } = await written(retention);
        for (const { apply } of damages) {
          await typed(() => apply(client, keys).catch(() => undefined));
        }
        const reader = knows ? history : open();
        const reads = [
          () => reader.getMessages(),
          () => reader.getTranscript(),
          () => reader.getTranscript({ from: 2, limit: 2 }),
          () => reader.getRounds(2),
          () => storedTurn(store, { id: "s" }, "x".repeat(14)),
          () => store.data.readSide({ id: "s" }, ""),
        ];
        for (const read of reads) {
          await typed(read);
        }
        const isList = ["list", "none"].includes(await client.type(keys.log));
        const logBefore = isList ? await client.lrange(keys.log, 0, -1) : [];
        const writes = [
          () => reader.append([human("q3", "q3"), ai("a3", { id: "a3" })]),
          () => reader.append([human("q9", "q9"), ai("a9", { id: "a9" })], { turnId: "t9" }),
          () => reader.append([human("other")], { turnId: "t3" }),
          () => reader.rewind("a9"),
          () => reader.reduceView(),
        ];
        for (const write of writes) {
          const before = await contents(keys);
          const outcome = await typed(write);
          if (MemoryError.isInstance(outcome)) {
            expect(await contents(keys)).toEqual(before);
          }
        }
        const rebuilt = await typed(() => reader.rebuild());
        if (!isList) {
          expect(rebuilt).toMatchObject({ code: "wrong_type", message: expect.stringContaining("only clear()") });
          await reader.clear();
          await expect(reader.append([human("n")])).resolves.toMatchObject({ appended: 1, next: 1 });
          return;
        }
        expect(rebuilt).toBeUndefined();
        const kept = await client.lrange(keys.log, 0, -1);
        if (retention === "keep" && logBefore.length > 0) {
          expect(kept.slice(0, logBefore.length)).toEqual(logBefore);
        }
        const view = await store.readView({ id: "s" });
        const page = await readLog(store, { id: "s" });
        expect([view.damaged, page.damaged, page.records]).toEqual([false, false, kept]);
        const messages = [human("after", "after"), ai("answer", { id: "answer" })];
        await expect(reader.append(messages, { turnId: "after" })).resolves.toMatchObject({ appended: 2 });
        await expect(reader.append(messages)).resolves.toMatchObject({ appended: 0, duplicates: 2 });
        const texts = (await reader.getMessages()).map(({ text }) => text);
        expect(texts.slice(-2)).toEqual(["after", "answer"]);
        await reader.rewind("after");
        expect(await client.exists(keys.log)).toBe((await readLog(store, { id: "s" })).records.length > 0 ? 1 : 0);
        await expect(reader.append([human("last", "last")])).resolves.toMatchObject({ appended: 1 });
        expect((await reader.getMessages()).at(-1)!.text).toBe("last");
        await client.unlink(keys.log, keys.ids, keys.state);
      },
    );
    await fc.assert(property, { numRuns: runs });
  });
});

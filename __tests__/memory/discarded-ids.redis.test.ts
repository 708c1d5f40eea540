import { Redis } from "ioredis";
import { ConflictError } from "../../src/base/errors.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { asRead, record } from "../../testing/session-store/store-case.js";
import type { EncryptionKeys } from "../../src/store/sealed/keys/key-ring.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";

const turn = (index: number | string) => [human(`q${index}`, `q${index}`), ai(`a${index}`, { id: `a${index}` })];

describe.each(["Redis", "memory"] as const)("messages that retention discarded, in %s", (kind) => {
  const client = sharedClient();
  let keyPrefix: string;
  let store: SessionStore;
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = kind === "Redis" ? new RedisSessionStore({ client, keyPrefix }) : new InMemorySessionStore();
  });

  const open = (onConflict?: "keep") => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const options = { store, reducer, retention: "discard" as const, ...(onConflict && { onConflict }) };
    return new RedisChatMemory(options).history("s");
  };
  const texts = async (history: ReturnType<typeof open>) => (await history.getTranscript()).map(({ text }) => text);

  it("add nothing when they are sent again late, and stay out of the view", async () => {
    const history = open();
    for (let index = 0; index < 5; index += 1) {
      await history.append(turn(index));
    }
    for (let index = 0; index < 5; index += 1) {
      await expect(history.append(turn(index))).resolves.toMatchObject({ appended: 0, duplicates: 2 });
    }
    expect(await texts(history)).toEqual(["q4", "a4"]);
    await expect(history.append([...turn(0), ...turn(5)])).resolves.toMatchObject({ appended: 2, duplicates: 2 });
    expect(await texts(history)).toEqual(["q5", "a5"]);
  });

  it("are a conflict with other content, or kept, as if they were still there", async () => {
    await open().append(turn(0));
    await open().append(turn(1));
    await expect(open().append([human("other", "q0")])).rejects.toThrow(ConflictError);
    await expect(open("keep").append([human("other", "q0")])).resolves.toMatchObject({ appended: 0 });
    expect(await texts(open())).toEqual(["q1", "a1"]);
  });

  it("add nothing when sent again after a rotation of keys, and are a conflict with other content", async () => {
    const historyWith = (encryption: EncryptionKeys) => {
      const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
      return new RedisChatMemory({ store, encryption, reducer, retention: "discard" }).history("s");
    };
    for (let index = 0; index < 3; index += 1) {
      await historyWith(testKeys("k1")).append(turn(index));
    }
    const rotated = historyWith(testKeys("k2", "k1"));
    await expect(rotated.append(turn(0))).resolves.toMatchObject({ appended: 0, duplicates: 2 });
    await expect(rotated.append([...turn(1), ...turn(2), ...turn(3)])).resolves.toMatchObject({ duplicates: 4 });
    await expect(rotated.append([human("other", "q0")])).rejects.toThrow(ConflictError);
    expect(await texts(rotated)).toEqual(["q3", "a3"]);
  });

  it("stay known after a rewind to nothing and after a rebuild, and not after clear", async () => {
    const history = open();
    await history.append(turn(0));
    await history.append(turn(1));
    await history.rebuild();
    await expect(history.append(turn(0))).resolves.toMatchObject({ appended: 0, duplicates: 2 });
    await history.rewind("q1");
    expect(await texts(history)).toEqual([]);
    await expect(history.append(turn(0))).resolves.toMatchObject({ appended: 0, duplicates: 2 });
    await expect(history.append(turn(2))).resolves.toMatchObject({ appended: 2, duplicates: 0, next: 4 });
    await history.rebuild();
    await expect(history.append([...turn(0), ...turn(2)])).resolves.toMatchObject({ appended: 0, duplicates: 4 });
    await history.clear();
    await expect(history.append(turn(0))).resolves.toMatchObject({ appended: 2, duplicates: 0 });
  });
});

it("The ids of discarded messages take less than 100 bytes of Redis each", async () => {
  const client = new Redis(sharedRedisUrl());
  const keyPrefix = uniquePrefix();
  const store = new RedisSessionStore({ client, keyPrefix });
  const keys = [`${keyPrefix}:{s}:ids`, `${keyPrefix}:{s}:state`];
  const used = async () => {
    const sizes = await Promise.all(keys.map((key) => client.call("MEMORY", "USAGE", key, "SAMPLES", "0")));
    return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
  };
  const fill = async (count: number) => {
    for (let from = 0; from < count; from += 1_000) {
      const added = Array.from({ length: 1_000 }, (_, index) => record(`m${from + index}`));
      const { view } = await store.append({ id: "s" }, { records: added, viewLimit: { messages: 0 } });
      const discard = true;
      await store.commitReduction(
        { id: "s" },
        { ...asRead(view!), start: view!.next, head: "", headCount: 0, discard },
      );
    }
    return used();
  };
  const each = ((await fill(10_000)) - 2_000) / 10_000;
  expect(each).toBeLessThan(100);
  client.disconnect();
});

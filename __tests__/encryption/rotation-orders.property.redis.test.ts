import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { EncryptionError } from "../../src/base/errors.js";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { propertyRuns } from "../support/property-runs.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import { storedBytes } from "../support/stored-bytes.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { testKey, testKeys } from "../support/test-keys.js";

const client = sharedClient();
const closed = closedAfterEach();

/** What the processes of a rotation do, each to a session. */
type Act =
  "write" | "read" | "reduce" | "fork" | "clear" | "delete" | "rotate" | "rekey" | "die" | "thread" | "item" | "run";
interface Step {
  readonly act: Act;
  readonly session: "a" | "b";
  /** Which process: one with the old master alone, with both, and with both and the new one current. */
  readonly who: 0 | 1 | 2;
  /** True for a process that knows no data key yet. */
  readonly isNew: boolean;
  /** The call behind which a rotation dies. */
  readonly dies: number;
}

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    act: fc.constantFrom<Act>(
      ...(["write", "write", "read", "reduce", "fork", "clear", "delete"] as const),
      ...(["rotate", "rotate", "rekey", "die", "thread", "thread", "item", "run"] as const),
    ),
    session: fc.constantFrom("a", "b"),
    who: fc.constantFrom(0, 1, 2),
    isNew: fc.boolean(),
    dies: fc.integer({ min: 1, max: 8 }),
  }),
  { minLength: 4, maxLength: 14 },
);

const holders = [testKeys("k1"), testKeys("k1", "k2"), testKeys("k2", "k1")] as const;
const longText = "secret thread ".repeat(20);
const metadata = { source: "loop", step: 0, parents: {} } as const;
const reducer = new ChatHistoryTruncationReducer({ targetCount: 3 });

describe("a rotation beside everything else, in any order", () => {
  it.each(["Redis", "memory"])("ends with all of it readable by the new key alone, in %s", async (kind) => {
    const runs = propertyRuns(kind === "Redis" ? 40 : 160);
    const orders = fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), fc.boolean(), (drawn, atOnce, beginsPlain) =>
      play(kind, drawn, { atOnce, beginsPlain }),
    );
    await fc.assert(orders, { numRuns: runs });
  });
});

async function play(
  kind: string,
  drawn: readonly Step[],
  { atOnce, beginsPlain }: { readonly atOnce: number; readonly beginsPlain: boolean },
): Promise<void> {
  const keyPrefix = uniquePrefix();
  const store = kind === "Redis" ? new RedisSessionStore({ client, keyPrefix }) : new InMemorySessionStore();
  const open = (who: number, own: SessionStore = store) =>
    closed(new RedisChatMemory({ store: own, encryption: holders[who]!, reducer, reduceWhen: "never" }));
  const lasting = holders.map((_, who) => open(who));
  const [checkpoints, items] = [new Set<string>(), new Set<string>()];
  if (beginsPlain) {
    await new RedisChatMemory({ store }).history("a").addMessages([new HumanMessage("secret plain")]);
  }
  const written = new Map<string, Set<string>>();
  let count = 0;
  const one = async ({ act, session, who, isNew, dies }: Step): Promise<void> => {
    const memory = isNew ? open(who) : lasting[who]!;
    const history = memory.history(session);
    count += 1;
    switch (act) {
      case "write": {
        const id = `m${count}`;
        await history.addMessages([new HumanMessage({ id, content: `secret ${id}` })]);
        written.set(session, (written.get(session) ?? new Set()).add(id));
        return;
      }
      case "read":
        await history.getMessages();
        return;
      case "reduce":
        await history.reduceView();
        return;
      case "fork":
        await history.fork(`${session}-${count}`).catch(unlessNothing);
        return;
      case "clear":
        written.delete(session);
        await history.clear();
        checkpoints.clear();
        written.delete(session);
        return;
      case "delete":
        written.delete(session);
        await memory.sessions.delete(session, { guardMs: 1 });
        checkpoints.clear();
        written.delete(session);
        return;
      case "thread":
        if (kind === "Redis") {
          const checkpoint = { ...emptyCheckpoint(), id: uuid6(count), channel_values: { list: [longText, count] } };
          const configurable = { thread_id: session, checkpoint_ns: "" };
          await new RedisSaver({ memory }).put({ configurable }, checkpoint, metadata, { list: count });
          checkpoints.add(checkpoint.id);
        }
        return;
      case "item":
        if (kind === "Redis") {
          const key = `k${count}`;
          await new RedisStore({ memory }).put(["u"], key, { text: "secret item" });
          items.add(key);
        }
        return;
      case "run":
        if (kind === "Redis") {
          const run = redisRuns(memory);
          const turn = { turnId: `t${count}` };
          const chunks = await run.start(session, turn, async function* () {
            yield "secret chunk";
          });
          for await (const _ of chunks);
        }
        return;
      case "rotate":
        await lasting[2]!.sessions.reencrypt();
        return;
      case "rekey":
        await lasting[2]!.sessions.reencrypt({ dataKeys: true });
        return;
      case "die":
        await open(2, kind === "Redis" ? dyingStore(keyPrefix, dies) : store)
          .sessions.reencrypt({ dataKeys: isNew })
          .catch(() => undefined);
    }
  };
  for (let first = 0; first < drawn.length; first += atOnce) {
    await Promise.all(drawn.slice(first, first + atOnce).map((step) => one(step).catch(unlessLocked)));
  }
  const done = await open(2).sessions.reencrypt();
  expect(done).toMatchObject({ incomplete: 0, failed: 0 });
  const last = closed(new RedisChatMemory({ store, encryption: { current: testKey("k2") } }));
  for await (const id of store.lists.scan()) {
    const found = new Set((await last.history(id).getTranscript()).map((message) => message.id));
    expect([...(written.get(id) ?? [])].filter((message) => !found.has(message))).toEqual([]);
    await last.history(id).getMessages();
    const { records, ...raw } = await store.readView({ id, keys: {} });
    expect([raw.head, ...records].join()).not.toContain("secret");
  }
  if (kind === "Redis") {
    const locked = await Promise.all(["a", "b"].map((session) => isLocked(last, session)));
    expect(done.runs).toBeGreaterThanOrEqual(locked.filter(Boolean).length);
    expect(await storedText(keyPrefix)).not.toContain("secret chunk");
    const [saver, long] = [new RedisSaver({ memory: last }), new RedisStore({ memory: last })];
    expect((await long.search(["u"], { limit: 100 })).map(({ key }) => key).sort()).toEqual([...items].sort());
    const found = [];
    for await (const { checkpoint } of saver.list({ configurable: {} })) {
      expect(checkpoint.channel_values["list"]).toContain(longText);
      found.push(checkpoint.id);
    }
    expect(found).toEqual(expect.arrayContaining([...checkpoints]));
  }
}

/** True for a run that needs another key than the process has. */
async function isLocked(memory: RedisChatMemory, session: string): Promise<boolean> {
  try {
    for await (const _ of redisRuns(memory).join(session, {}));
    return false;
  } catch (error) {
    expect(error).toMatchObject({ name: "EncryptionError", code: "unknown_key" });
    return true;
  }
}

const storedText = async (keyPrefix: string) => [...(await storedBytes(client, keyPrefix)).values()].join();

/** A store whose connection is gone behind so many calls. */
function dyingStore(keyPrefix: string, calls: number): SessionStore {
  let left = calls;
  const dying = interceptedClient(client, async (send) => {
    left -= 1;
    if (left < 0) {
      throw new Error("The process died.");
    }
    return send();
  });
  return new RedisSessionStore({ client: dying, keyPrefix });
}

/** A process with the old master alone is refused what the new one wrapped; a deleted session may be guarded. */
function unlessLocked(error: unknown): void {
  const { code } = error as { readonly code?: unknown };
  if (!EncryptionError.isInstance(error) && code !== "erased" && code !== "busy") {
    throw error;
  }
}

/** There may be no session to fork. */
function unlessNothing(error: unknown): void {
  const { code } = error as { readonly code?: unknown };
  if (code !== "unknown_session") {
    throw error;
  }
}

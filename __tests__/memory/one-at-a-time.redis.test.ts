import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { Redis } from "ioredis";
import { createAgent } from "langchain";
import type { MemoryEvent } from "../../src/base/events.js";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionOf } from "../../src/memory/histories/redis-chat-message-history.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { ToolModel } from "../support/agents.js";
import { buildPrograms, type BuiltPrograms } from "../support/built-programs.js";
import { startFaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const root = join(__dirname, "../..");
const open: RedisChatMemory[] = [];
const stores: RedisSessionStore[] = [];
const events: MemoryEvent[] = [];
const redis = sharedClient();

function newMemory(options: MemorySettings & { readonly url?: string } = {}): RedisChatMemory {
  const onEvent = (event: MemoryEvent) => void events.push(event);
  const memory = new RedisChatMemory({
    url: sharedRedisUrl(),
    redis: { keyPrefix: uniquePrefix() },
    onEvent,
    ...options,
  });
  open.push(memory);
  return memory;
}

/** A memory whose waiters keep their places, and its holders their holds, also where this process stands still. */
function patientMemory(keyPrefix: string): RedisChatMemory {
  const onEvent = (event: MemoryEvent) => void events.push(event);
  const store = new RedisSessionStore({ url: sharedRedisUrl(), keyPrefix, onEvent });
  const { data } = store;
  const [take, renew] = [data.acquireHold.bind(data), data.renewHold.bind(data)];
  const long = ({ holdMs }: { readonly holdMs: number }) => 40 * holdMs;
  data.acquireHold = (session, request) => take(session, { ...request, graceMs: 60_000, holdMs: long(request) });
  data.renewHold = (session, request) => renew(session, { ...request, holdMs: long(request) });
  const memory = new RedisChatMemory({ store });
  open.push(memory);
  stores.push(store);
  return memory;
}

const commands = (operation: string) =>
  events.filter((event) => event.type === "command" && event.operation === operation).length;
const stateOf = (keyPrefix: string, session: string) => sessionKeys(keyPrefix, session).state;

/** Resolves when a turn of the session is held or waited for, as often as asked. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    await delay(5);
  }
}

afterEach(async () => {
  events.length = 0;
  await Promise.all(open.splice(0).map((memory) => memory.close()));
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

describe("one turn of a session at a time", () => {
  it("returns what the function returns, and costs one round trip to begin and one to end", async () => {
    const proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
    try {
      const memory = newMemory({ url: proxy.url, sessionTTL: 600 });
      await memory.withTurn("ann", () => undefined);
      proxy.resetFlights();
      expect(await memory.withTurn("ann", () => 7)).toBe(7);
      expect(proxy.flights()).toBe(2);
      proxy.resetFlights();
      await memory.withTurn("ann", (history) => history.append([human("q"), ai("a")]));
      expect(proxy.flights()).toBe(3);
    } finally {
      await proxy.stop();
    }
  });

  it("gives the turn back where the function throws, and a turn that wrote nothing leaves no key", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix } });
    const failure = new Error("no");
    await expect(memory.withTurn("ann", () => Promise.reject(failure))).rejects.toBe(failure);
    expect(await redis.keys(`${keyPrefix}*`)).toEqual([]);
    await memory.withTurn("ann", () => undefined, { waitMs: 0 });
  });

  it("serves 50 waiters of 50 instances in the order in which they came, without a busy loop", async () => {
    const keyPrefix = uniquePrefix();
    const order: number[] = [];
    const began = performance.now();
    const turns: Promise<unknown>[] = [];
    for (let index = 0; index < 50; index += 1) {
      turns.push(
        patientMemory(keyPrefix).withTurn("ann", async (history) => {
          order.push(index);
          await history.append([human(`q${index}`)]);
          await delay(20);
        }),
      );
      const waiting = index;
      await until(async () => {
        // Before the waiters: a turn that is served meanwhile is counted once.
        const served = order.length;
        const waiters = (await redis.hget(stateOf(keyPrefix, "ann"), "waiters")) ?? "";
        return Math.floor(waiters.split(" ").length / 2) + served > waiting;
      });
    }
    await Promise.all(turns);
    const milliseconds = performance.now() - began;
    expect(order).toEqual(Array.from({ length: 50 }, (_, index) => index));
    // Each waiter asks at least once; who waits longer asks less often.
    expect(commands("acquireHold")).toBeLessThan(50 + milliseconds);
    expect(await newMemory({ redis: { keyPrefix } }).history("ann").getTranscript()).toHaveLength(50);
  });

  it("says busy after waitMs, also behind waiters of the same process, and leaves the queue", async () => {
    const keyPrefix = uniquePrefix();
    const [one, other] = [newMemory({ redis: { keyPrefix } }), newMemory({ redis: { keyPrefix } })];
    await one.withTurn("ann", async () => {
      const waits = [30, 30, 0].map((waitMs) => other.withTurn("ann", () => "never", { waitMs }));
      for (const outcome of await Promise.allSettled(waits)) {
        expect(outcome).toMatchObject({
          status: "rejected",
          reason: { name: "ConflictError", code: "busy", retryable: true, sessionId: "ann" },
        });
      }
      await other.drain();
      expect(await redis.hget(stateOf(keyPrefix, "ann"), "waiters")).toBeNull();
    });
    expect(await other.withTurn("ann", () => "now", { waitMs: 0 })).toBe("now");
  });

  it.each([
    ["a function", undefined, {}, "run"],
    ["waitMs", () => 1, { waitMs: -1 }, "waitMs"],
    ["holdMs", () => 1, { holdMs: 99 }, "holdMs"],
    ["its options", () => 1, { wait: 1 }, "wait"],
  ])("refuses bad arguments: %s", async (_, run, options, option) => {
    const memory = newMemory();
    await expect(memory.withTurn("ann", run as never, options as never)).rejects.toMatchObject({
      name: "ConfigurationError",
      option,
    });
    expect(commands("acquireHold")).toBe(0);
  });
});

describe("what a turn writes through its history", () => {
  it("goes on after the turn itself cleared or rewound the session", async () => {
    const memory = newMemory();
    await memory.history("ann").append([human("old", "m1"), ai("older", { id: "m2" })]);
    await memory.withTurn("ann", async (history) => {
      await history.clear();
      await history.append([human("q", "m1")]);
      await history.rewind("m1");
      await history.append([human("again", "m1")]);
    });
    const messages = await memory.history("ann").getTranscript();
    expect(messages.map(({ text }) => text)).toEqual(["again"]);
  });

  it("is refused once another turn has begun, whatever it is", async () => {
    const keyPrefix = uniquePrefix();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const [one, other] = [
      newMemory({ redis: { keyPrefix }, reducer, reduceWhen: "never" }),
      newMemory({ redis: { keyPrefix } }),
    ];
    await one.withTurn("ann", async (history) => {
      await history.append([human("q1", "m1"), ai("a1", { id: "m2" }), human("q2", "m3"), ai("a2", { id: "m4" })]);
      await redis.hdel(stateOf(keyPrefix, "ann"), "holder");
      await other.withTurn("ann", () => undefined);
      for (const write of [
        () => history.append([human("late")]),
        () => history.append([], { side: { set: { a: "1" } } }),
        () => history.rewind("m3"),
        () => history.reduceView(),
        () => history.clear(),
      ]) {
        await expect(write()).rejects.toMatchObject({ name: "ConflictError", code: "fenced", sessionId: "ann" });
      }
    });
    expect(await other.history("ann").getMessages()).toHaveLength(4);
  });
});

describe("a turn of an owner", () => {
  it("is refused on another one's session, and claims a session that has none", async () => {
    const memory = newMemory();
    await memory.withTurn("ann-1", (history) => history.append([human("q")]), { owner: "ann" });
    expect((await memory.sessions.get("ann-1"))?.owner).toBe("ann");
    const refused = { name: "ConflictError", code: "other_owner", sessionId: "ann-1" };
    await expect(memory.withTurn("ann-1", () => 7, { owner: "bob" })).rejects.toMatchObject(refused);
    await expect(memory.withTurn("ann-1", () => 7, { owner: "" })).rejects.toMatchObject({ option: "owner" });
    await expect(memory.withTurn("ann-1", () => 7)).resolves.toBe(7);
  });
});

describe("a turn that ends while Redis is away", () => {
  const away = async (keyPrefix: string) => {
    const client = new Redis(sharedRedisUrl());
    const link = { isBroken: false };
    const broken = interceptedClient(client, async (send) => {
      if (link.isBroken) {
        throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      }
      return send();
    });
    const memory = new RedisChatMemory({ client: broken, redis: { keyPrefix } });
    const turn = memory.withTurn("s", () => void (link.isBroken = true), { holdMs: 5_000 });
    await turn;
    return { memory, link, close: () => memory.close().then(() => client.disconnect()) };
  };

  it("is over by its time, and the next one goes on", async () => {
    const keyPrefix = uniquePrefix();
    const { link, close } = await away(keyPrefix);
    const other = newMemory({ redis: { keyPrefix } });
    await expect(other.withTurn("s", () => "never", { waitMs: 0 })).rejects.toMatchObject({ code: "busy" });
    link.isBroken = false;
    expect(await other.withTurn("s", () => "soon")).toBe("soon");
    await close();
  });
});

describe("a memory that is closed while a turn is under way", () => {
  it("gives the turn back, so that nobody waits for it", async () => {
    const keyPrefix = uniquePrefix();
    const [closed, other] = [newMemory({ redis: { keyPrefix } }), newMemory({ redis: { keyPrefix } })];
    let end!: () => void;
    const work = new Promise<void>((resolve) => (end = resolve));
    let turn: Promise<void> | undefined;
    await new Promise<void>((resolve) => {
      turn = closed.withTurn("s", () => {
        resolve();
        return work;
      });
    });
    await closed.close();
    expect(await other.withTurn("s", () => "at once", { waitMs: 0 })).toBe("at once");
    end();
    await turn;
  });

  it("gives back what a chain holds", async () => {
    const keyPrefix = uniquePrefix();
    const [closed, other] = [newMemory({ redis: { keyPrefix } }), newMemory({ redis: { keyPrefix } })];
    const config = { configurable: { sessionId: "s" } };
    let end!: () => void;
    const work = new Promise<void>((resolve) => (end = resolve));
    let called!: () => void;
    const calls = new Promise<void>((resolve) => (called = resolve));
    const runnable = RunnableLambda.from(async () => {
      called();
      await work;
      return ai("late");
    });
    const run = withRedisMemory(runnable, { memory: closed }).invoke([human("q")], config);
    await calls;
    await closed.close();
    expect(await other.withTurn("s", () => "at once", { waitMs: 0 })).toBe("at once");
    end();
    await expect(run).rejects.toMatchObject({ code: "closed" });
  });
});

describe("the option oneTurnAtATime with times", () => {
  it.each(["a chain", "an agent"])("has %s wait so long, and tells that it waits", async (door) => {
    const keyPrefix = uniquePrefix();
    const [memory, other] = [newMemory({ redis: { keyPrefix } }), newMemory({ redis: { keyPrefix } })];
    const model = new ToolModel(() => "a");
    const ask = (oneTurnAtATime: { waitMs?: number; holdMs?: number }) => {
      const config = { configurable: { sessionId: "s" } };
      const options = { memory, oneTurnAtATime };
      return door === "a chain"
        ? withRedisMemory(model, options).invoke([human("q")], config)
        : createAgent({ model, middleware: [redisMemoryMiddleware(options)] }).invoke(
            { messages: [human("q")] },
            config,
          );
    };
    // LangChain puts what a middleware throws into an error of its own.
    const busy = door === "a chain" ? { code: "busy" } : { name: "ConflictError", cause: { code: "busy" } };
    await other.withTurn("s", async () => {
      events.splice(0);
      await expect(ask({ waitMs: 2_000 })).rejects.toMatchObject(busy);
      expect(events).toContainEqual({ type: "turn_waits", sessionId: "s", isHeldHere: false });
      await expect(ask({ waitMs: 0 })).rejects.toMatchObject(busy);
      expect(events.filter(({ type }) => type === "turn_waits")).toHaveLength(1);
    });
    await ask({ holdMs: 200 });
    expect(() => ask({ holdMs: 99 })).toThrow(/holdMs/);
    expect(() => ask({ waitMS: 5 } as never)).toThrow(/oneTurnAtATime/);
  });
});

describe("a turn within a turn of the same session", () => {
  it("is refused at once, also one of a door, and waits for nobody when it is over", async () => {
    const memory = newMemory();
    const chain = withRedisMemory(new RunnableLambda({ func: () => "a" }), { memory, oneTurnAtATime: true });
    const ask = () => chain.invoke([human("q")], { configurable: { sessionId: "s" } });
    let afterwards: Promise<string> | undefined;
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    await memory.withTurn("s", async () => {
      for (const nested of [() => memory.withTurn("s", () => undefined), ask]) {
        await expect(nested()).rejects.toMatchObject({ code: "nested_turn", retryable: false, sessionId: "s" });
      }
      await expect(memory.withTurn("other", () => "another session")).resolves.toBe("another session");
      afterwards = ended.then(() => memory.withTurn("s", () => "after it"));
    });
    end();
    await expect(afterwards).resolves.toBe("after it");
    await expect(ask()).resolves.toBeDefined();
  });

  it("is refused at once within a chain that is invoked or streamed, and the session is free afterwards", async () => {
    const memory = newMemory();
    const config = { configurable: { sessionId: "s" } };
    const begin = () => memory.withTurn("s", () => "a");
    async function* inStream() {
      yield "a";
      yield await begin();
    }
    for (const func of [begin, inStream as unknown as typeof begin]) {
      const chain = withRedisMemory(new RunnableLambda({ func }), { memory, oneTurnAtATime: true });
      await expect(chain.invoke([human("q")], config)).rejects.toMatchObject({ code: "nested_turn" });
      const stream = await chain.stream([human("q")], config).catch((error: unknown) => error);
      const read = async () => {
        for await (const chunk of stream as AsyncIterable<string>) {
          expect(chunk).toBe("a");
        }
      };
      const reading = stream instanceof Error ? Promise.reject(stream) : read();
      await expect(reading).rejects.toMatchObject({ code: "nested_turn" });
      expect(await begin()).toBe("a");
    }
  });

  it("waits where another memory holds the session", async () => {
    const memory = newMemory();
    const other = newMemory();
    const elsewhere = memory.withTurn("t", () => other.withTurn("t", () => undefined, { waitMs: 0 }));
    await expect(elsewhere).resolves.toBeUndefined();
  });
});

describe("a reduction in the background", () => {
  it("carries the fence of its turn until that is given back", async () => {
    let goOn: (() => void) | undefined;
    const reduce = async () => {
      await until(async () => goOn !== undefined);
      goOn!();
      goOn = undefined;
    };
    const reducer = RunnableLambda.from(async (messages: BaseMessage[]) => {
      await new Promise<void>((resolve) => (goOn = resolve));
      return messages.slice(-1);
    });
    const keyPrefix = uniquePrefix();
    const [memory, other] = [
      newMemory({ redis: { keyPrefix }, reducer, reduceWhen: "background" }),
      newMemory({ redis: { keyPrefix } }),
    ];
    await memory.withTurn("lost", async (history) => {
      await history.append([human("q1"), ai("a1"), human("q2"), ai("a2")]);
      await redis.hdel(stateOf(keyPrefix, "lost"), "holder");
      await other.withTurn("lost", () => undefined);
      await reduce();
      await Promise.all(sessionOf("test", history).context.pending.keys());
    });
    expect(events.find((event) => event.type === "reduction_failed")).toMatchObject({ error: { code: "fenced" } });
    await memory.withTurn("kept", (history) => history.append([human("q1"), ai("a1"), human("q2"), ai("a2")]));
    await other.withTurn("kept", () => undefined);
    await reduce();
    await memory.drain();
    expect(await memory.history("kept").getMessages()).toHaveLength(1);
    expect(await memory.history("lost").getMessages()).toHaveLength(4);
  });
});

describe("a process that is paused past its turn", () => {
  const cases = ["began", "wrote", "ended", "cleared", "cleared-back", "expired", "expired-back"];
  const sessions = cases.flatMap((name) => [`${name}-new`, `${name}-old`]);
  const source = "__tests__/support/turn-worker.ts";
  let programs: BuiltPrograms;
  let worker: ChildProcess;
  beforeAll(async () => {
    programs = await buildPrograms([source]);
  });
  afterAll(() => programs.remove());
  afterEach(() => worker.kill("SIGKILL"));

  it("writes nothing more, whatever the others did meanwhile", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix } });
    for (const session of sessions.filter((name) => name.endsWith("-old"))) {
      await memory.history(session).append([human("before")]);
    }
    const args = [programs.pathOf(source), sharedRedisUrl(), keyPrefix, "150", ...sessions];
    worker = spawn(process.execPath, args, { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
    await once(worker.stdout!, "data");
    worker.kill("SIGSTOP");
    const stays: (() => void)[] = [];
    await Promise.all(
      sessions.map(async (session) => {
        const history = memory.history(session);
        if (session.startsWith("cleared")) {
          await history.clear();
        } else if (session.startsWith("expired")) {
          await redis.pexpire(stateOf(keyPrefix, session), 1);
          await until(async () => (await redis.exists(stateOf(keyPrefix, session))) === 0);
          await history.clear();
        } else {
          const begun = new Promise<void>((resolve) => {
            const turn = memory.withTurn(session, async (own) => {
              await (session.startsWith("wrote") ? own.append([human("theirs")]) : undefined);
              resolve();
              await (session.startsWith("ended") ? undefined : new Promise<void>((end) => stays.push(end)));
            });
            turn.catch(() => undefined);
          });
          await begun;
        }
        await (session.includes("-back-") ? history.append([human("new life")]) : undefined);
      }),
    );
    worker.kill("SIGCONT");
    worker.stdin!.write("go\n");
    const [output] = (await once(worker.stdout!, "data")) as [Buffer];
    const outcomes = JSON.parse(String(output)) as Record<string, string>;
    // A session that turns created and that none wrote to has ended with the other turn.
    const expected = (session: string) => (/^(cleared|expired|ended-new)/.test(session) ? "epoch" : "fenced");
    expect(outcomes).toEqual(Object.fromEntries(sessions.map((session) => [session, expected(session)])));
    stays.forEach((end) => end());
    for (const session of sessions) {
      const texts = (await memory.history(session).getTranscript()).map(({ text }) => text);
      expect(texts).not.toContain("late");
    }
  });
});

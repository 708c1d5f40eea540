import { createAgent } from "langchain";
import {
  ChatHistorySummarizationReducer,
  type RedisChatMemory,
  type RedisChatMemoryOptions,
  sessionConfig,
  withRedisMemory,
} from "langchain-redis-memory";
import { HistoryManager } from "langchain-redis-memory/tool-loop";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { ToolModel } from "../support/agents.js";
import { ai, human } from "../support/messages.js";
import { newMemory } from "../support/memories.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";

/*
 * Whatever waits is checked again behind the wait: for a model, for the turn before it, or for the model of a summary
 * or a title. Each wait of turns and sessions stands here with each change that others can make meanwhile.
 */
const marker = "zebra-marker-7";
const client = sharedClient();

/** A model that waits at its first call. */
function waitingModel() {
  let [enter, open] = [() => {}, () => {}];
  const entered = new Promise<void>((resolve) => (enter = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  let calls = 0;
  const model = new ToolModel(async () => {
    calls += 1;
    enter();
    await opened;
    return calls === 1 ? `${marker} answer` : "of a later turn";
  });
  return { model, entered, open };
}

type Waiting = ReturnType<typeof waitingModel>;
type Wait = (
  waiting: Waiting,
  make: (options?: Partial<RedisChatMemoryOptions>) => RedisChatMemory,
) => Promise<unknown>;

const ann = (turnId: string) => sessionConfig({ sessionId: "s", owner: "ann", turnId });
const question = `${marker} question`;
const settled = (work: Promise<unknown>) =>
  work.then(
    () => "ended",
    ({ code }: { code?: string }) => code,
  );
/** Waits of turns of which nothing is stored before their end: behind a `clear` they are turns of a new session. */
const storedWhole = new Set(["the answer of a chain that stores turns whole, two at a time", "a HistoryManager"]);

/** Begins what waits; resolves with how each call ended, and when its background work is done. */
const waits: Readonly<Record<string, Wait>> = {
  "the answer of a chain": ({ model }, make) =>
    settled(withRedisMemory(model, { memory: make() }).invoke(question, ann("t"))),
  "the answer of a chain that stores turns whole, two at a time": ({ model }, make) => {
    const options = { memory: make(), persist: "turn", oneTurnAtATime: false } as const;
    return settled(withRedisMemory(model, options).invoke(question, ann("t")));
  },
  "the answer of an agent": ({ model }, make) => {
    const agent = withRedisMemory(createAgent({ model, tools: [] }), { memory: make() });
    return settled(agent.invoke({ messages: [human(question)] }, ann("t")));
  },
  "a loop of one's own": ({ model }, make) =>
    settled(
      make().withTurn("s", async (history) => history.addMessages([await model.invoke([human(question)])]), {
        owner: "ann",
        turnId: "t",
        input: [human(question)],
      }),
    ),
  "a HistoryManager": async ({ model }, make) => {
    const history = make().history("s", { owner: "ann" });
    const manager = new HistoryManager({ history, maxInputTokens: 10_000 });
    const { messages } = await manager.getHistoryForModelCall({
      originalUserMessage: question,
      renderedUserMessage: question,
      renderedSystemMessage: "",
      turnId: "t",
    });
    manager.addAssistantMessage(await model.invoke(messages));
    return settled(manager.commit());
  },
  "the turn before": ({ model, entered }, make) => {
    const chain = withRedisMemory(model, { memory: make() });
    const first = settled(chain.invoke(question, ann("t")));
    const second = entered.then(() => settled(chain.invoke("of a later turn", ann("u"))));
    return Promise.all([first, second]);
  },
  "a summary in the background": async ({ model }, make) => {
    const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 2, thresholdCount: 0 });
    const memory = make({ reducer, reduceWhen: "background" });
    const history = memory.history("s", { owner: "ann" });
    await history.addMessages([human(question), ai("a"), human("b"), ai("c"), human("d"), ai("e")]);
    await history.getMessages();
    return settled(memory.drain());
  },
  "a title": async ({ model }, make) => {
    const memory = make({ titles: { model } });
    await memory.history("s", { owner: "ann" }).addMessages([human(question), ai("a")]);
    return settled(memory.drain());
  },
};

/** What others do, and how calls in the foreground may end then. */
type Change = (others: RedisChatMemory, keyPrefix: string) => Promise<unknown>;
const changes: Readonly<Record<string, readonly [Change, ...string[]]>> = {
  "the session was deleted": [(others) => others.sessions.delete("s"), "erased"],
  "its owner was erased": [(others) => others.sessions.deleteOwner("ann"), "erased"],
  // A chain has its answer, of which an event says that it is not stored; a loop's own write is refused.
  "the session was cleared": [(others) => others.history("s").clear(), "ended", "epoch"],
  "the session is another owner's": [
    // In one step: between a clear and bob's first message, a turn of ann's that waits may begin a session of hers.
    async (others, keyPrefix) => {
      await others.history("bob's", { owner: "bob" }).addMessages([human("bob's")]);
      const [from, to] = [sessionKeys(keyPrefix, "bob's"), sessionKeys(keyPrefix, "s")];
      await client.multi().rename(from.log, to.log).rename(from.ids, to.ids).rename(from.state, to.state).exec();
    },
    "other_owner",
  ],
};

describe.each(Object.keys(waits))("what waits for %s", (wait) => {
  it.each(Object.keys(changes))("stores nothing of before: %s", async (change) => {
    const redis = { keyPrefix: uniquePrefix() };
    const waiting = waitingModel();
    const others = newMemory({ redis });
    await others.history("s", { owner: "ann" }).addMessages([human(marker), ai(marker)]);
    const memories: RedisChatMemory[] = [others];
    const outcome = waits[wait]!(waiting, (options) => {
      memories.push(newMemory({ redis, ...options }));
      return memories.at(-1)!;
    });
    await waiting.entered;
    await new Promise((resolve) => setTimeout(resolve, 50));
    const [make, ...ends] = changes[change]!;
    await make(others, redis.keyPrefix);
    waiting.open();
    const isBackground = /summary|title/.test(wait);
    expect(isBackground ? ["ended"] : ends).toEqual(expect.arrayContaining([await outcome].flat()));
    await Promise.all(memories.map((memory) => memory.drain()));
    const stored = [...(await storedBytes(client, redis.keyPrefix)).entries()].join("\n");
    if (change.endsWith("was cleared") && storedWhole.has(wait)) {
      const said = await others.history("s").getMessages();
      expect(said.map(({ text }) => text)).toEqual([question, `${marker} answer`]);
      return;
    }
    expect(stored).not.toContain(marker);
    if (change.endsWith("another owner's")) {
      expect(await others.history("s", { owner: "bob" }).getMessages()).toHaveLength(1);
    }
  });
});

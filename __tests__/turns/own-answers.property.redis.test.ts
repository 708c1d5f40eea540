import { createAgent } from "langchain";
import fc from "fast-check";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionConfig } from "../../src/memory/session/identity.js";
import { lookup, lookupCall, ToolModel } from "../support/agents.js";
import { human } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { SlowProcesses, type SlowNetwork } from "../../tools/testkit/proxies/slow-network.js";

/** A question that a tab asks, and after how many steps of the network: it may be stopped, and it is asked again. */
interface Question {
  readonly tab: number;
  readonly wait: number;
  readonly stop: number | undefined;
  /** True for a client that stores its question by itself before the run. */
  readonly isStoredBefore: boolean;
}

interface Setting {
  readonly memory: RedisChatMemory;
  readonly persist: "turn" | "step";
  readonly oneTurnAtATime: boolean;
}

type Ask = (setting: Setting, id: string, signal?: AbortSignal) => Promise<string>;

let answers = 0;
const answerTo = (id: string) => `answer ${(answers += 1)} to ${id}`;
const config = (signal?: AbortSignal) => ({
  ...sessionConfig({ sessionId: "s", title: "Questions" }),
  ...(signal && { signal }),
});

const chain: Ask = async ({ memory, persist, oneTurnAtATime }, id, signal) => {
  const model = new ScriptedModel((messages) => answerTo(messages.at(-1)!.text));
  const made = withRedisMemory(model, { memory, persist, oneTurnAtATime });
  return (await made.invoke([human(id, id)], config(signal))).text;
};

const agent: Ask = async ({ memory, persist, oneTurnAtATime }, id, signal) => {
  const model = new ToolModel((messages) => {
    const last = messages.at(-1)!;
    return last.type === "human" ? lookupCall(last.text) : answerTo(last.text.split(" ").at(-1)!);
  });
  const middleware = [redisMemoryMiddleware({ memory, persist, oneTurnAtATime })];
  const made = createAgent({ model, tools: [lookup], middleware });
  return (await made.invoke({ messages: [human(id, id)] }, config(signal))).messages.at(-1)!.text;
};

const doors: readonly [name: string, ask: Ask][] = [
  ["chain", chain],
  ["agent", agent],
];
const settings = doors.flatMap(([name, ask]) => [false, true].map((held) => [name, held, ask] as const));

describe("questions that several tabs ask at the same time", () => {
  const processes = new SlowProcesses();
  const questions = fc.array(
    fc.record<Question>({
      tab: fc.nat(2),
      wait: fc.nat(60),
      stop: fc.option(fc.integer({ min: 1, max: 80 }), { nil: undefined, freq: 3 }),
      isStoredBefore: fc.boolean(),
    }),
    { minLength: 2, maxLength: 6, size: "max" },
  );
  const persist = fc.constantFrom<Setting["persist"]>("turn", "step");

  it.each(settings)("have their own answer each, once: %s, oneTurnAtATime %s", async (_, oneTurnAtATime, ask) => {
    const property = fc.asyncProperty(questions, persist, fc.integer(), async (list, stores, seed) => {
      const { client, clients, network } = processes;
      await client.flushall();
      const memories = clients.map((each) => new RedisChatMemory({ client: each, redis: { commandTimeout: 60_000 } }));
      const asked = list.map((question, index) => ({ ...question, id: `q${index}` }));
      const tabs = memories.map((memory, tab) => ({
        setting: { memory, persist: stores, oneTurnAtATime },
        questions: asked.filter((question) => question.tab === tab),
      }));
      const given = new Map<string, string>();
      await network.during(seed, async () => {
        await Promise.all(tabs.map((tab) => askAll(ask, { ...tab, network, given })));
        await Promise.all(memories.map((memory) => memory.drain()));
      });
      const last = new RedisChatMemory({ client, redis: { commandTimeout: 60_000 } });
      for (const { id } of asked) {
        const again = await ask({ memory: last, persist: stores, oneTurnAtATime }, id);
        expect(given.get(id) ?? again).toBe(again);
        given.set(id, again);
      }
      await expectOwnAnswers(last, given);
      await Promise.all([...memories, last].map((memory) => memory.close()));
    });
    await fc.assert(property, { numRuns: propertyRuns(10), endOnFailure: true });
  });
});

interface Tab {
  readonly setting: Setting;
  readonly questions: readonly (Question & { readonly id: string })[];
  readonly network: SlowNetwork;
  /** The answers that callers got. */
  readonly given: Map<string, string>;
}

async function askAll(ask: Ask, { setting, questions, network, given }: Tab): Promise<void> {
  for (const { id, wait, stop, isStoredBefore } of questions) {
    await network.wait(wait);
    const controller = new AbortController();
    if (isStoredBefore) {
      await setting.memory.history("s").append([human(id, id)]);
    }
    if (stop !== undefined) {
      void network.wait(stop).then(() => controller.abort());
    }
    try {
      given.set(id, await ask(setting, id, controller.signal));
    } catch (error) {
      if (!controller.signal.aborted) {
        throw error;
      }
    }
  }
}

/** Each question stands once in the log; pages, rounds and the view show it with its own answer behind it. */
async function expectOwnAnswers(memory: RedisChatMemory, given: ReadonlyMap<string, string>): Promise<void> {
  const history = memory.history("s");
  const spoken = (messages: readonly { readonly text: string; readonly type: string }[]) =>
    messages.flatMap(({ type, text }) => (type === "tool" || text === "" ? [] : [text]));
  const { items } = await history.getPage({ limit: 1_000 });
  const page = spoken(items.map(({ message }) => message));
  const pairs = Array.from({ length: page.length / 2 }, (_, index) => page.slice(2 * index, 2 * index + 2));
  expect(new Map(pairs as [string, string][])).toEqual(given);
  expect(page).toHaveLength(2 * given.size);
  expect([...given].every(([id, answer]) => answer.endsWith(` to ${id}`))).toBe(true);
  expect(spoken(await history.getMessages())).toEqual(page);
  const rounds = await history.getRounds(100);
  expect(rounds.map(({ messages }) => spoken(messages))).toEqual(pairs);
  for (let count = 1; count < rounds.length; count += 1) {
    expect(spoken((await history.getRounds(count)).flatMap(({ messages }) => messages))).toEqual(
      page.slice(-2 * count),
    );
  }
}

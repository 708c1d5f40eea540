import { createAgent } from "langchain";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import type { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { characterCounter } from "../history-manager/instances.js";
import { lookup, lookupCall, ToolModel } from "../support/agents.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { forAllAsync, propertyRuns } from "../support/property-runs.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { SlowProcesses, type SlowNetwork } from "../../tools/testkit/proxies/slow-network.js";

/** A turn that one process runs, and after how many steps of the network its user presses Stop. */
interface Run {
  readonly turn: number;
  readonly instance: number;
  readonly stop: number | undefined;
}

/** Runs a turn through a door; returns the answer that its caller gets, where the door gives one. */
type Door = (memory: RedisChatMemory, turn: number, signal?: AbortSignal) => Promise<string | undefined>;

const question = (turn: number) => `look up ${turn}`;
const sessionOf = (turn: number, signal?: AbortSignal) => ({
  configurable: { sessionId: "s", turnId: `t${turn}` },
  ...(signal && { signal }),
});

let answers = 0;
const answerTo = (turn: number | string) => `answer ${(answers += 1)} to ${turn}`;
const model = () =>
  new ToolModel((messages) => {
    const last = messages.at(-1)!;
    return last.type === "human" ? lookupCall(last.text.slice(8)) : answerTo(last.text.slice(6));
  });

function agent(persist: "step" | "turn", onAbort: "keep" | "discard", oneTurnAtATime: boolean): Door {
  return async (memory, turn, signal) => {
    const middleware = [redisMemoryMiddleware({ memory, persist, onAbort, oneTurnAtATime })];
    const made = createAgent({ model: model(), tools: [lookup], middleware });
    const { messages } = await made.invoke({ messages: [human(question(turn))] }, sessionOf(turn, signal));
    return messages.at(-1)!.text;
  };
}

function chain(persist: "step" | "turn", onAbort: "keep" | "discard", oneTurnAtATime: boolean): Door {
  return async (memory, turn, signal) => {
    const said = new ScriptedModel((messages) => answerTo(messages.at(-1)!.text.slice(8)));
    const made = withRedisMemory(said, { memory, persist, onAbort, oneTurnAtATime });
    return (await made.invoke(question(turn), sessionOf(turn, signal))).text;
  };
}

const plain: Door = async (memory, turn) => {
  const callId = `call ${(answers += 1)}`;
  const messages = [human(question(turn)), aiCalls(callId), tool(callId), ai(answerTo(turn))];
  await memory.history("s").append(messages, { turnId: `t${turn}` });
  return undefined;
};

const manager: Door = async (memory, turn) => {
  const counter = { tokenCounter: characterCounter(), maxInputTokens: 100_000 };
  const made = new HistoryManager({ history: memory.history("s"), ...counter });
  const rendered = { renderedUserMessage: question(turn), renderedSystemMessage: "" };
  await made.getHistoryForModelCall({ originalUserMessage: question(turn), ...rendered, turnId: `t${turn}` });
  made.addAssistantMessage(ai(answerTo(turn)));
  await made.commit();
  return undefined;
};

const doors: Readonly<Record<string, Door>> = {
  "plain history": plain,
  HistoryManager: manager,
  chain: chain("turn", "discard", false),
  "chain that keeps what was said": chain("turn", "keep", false),
  "chain that stores steps, one at a time": chain("step", "keep", true),
  agent: agent("turn", "discard", false),
  "agent that stores steps, one at a time": agent("step", "keep", true),
};

const reducers: Readonly<Record<string, () => ChatHistoryReducer | undefined>> = {
  none: () => undefined,
  truncation: () => new ChatHistoryTruncationReducer({ targetCount: 3, thresholdCount: 1 }),
  summarization: () =>
    new ChatHistorySummarizationReducer({ model: new ScriptedModel(() => "summary"), targetCount: 3 }),
};

describe("whatever the order in which commands of three processes and their replies arrive", () => {
  const processes = new SlowProcesses();

  const runs = fc.array(
    fc.record({
      turn: fc.nat(2),
      instance: fc.nat(2),
      stop: fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 150 })),
    }),
    { minLength: 2, maxLength: 7, size: "max" },
  );
  const reducer = fc.constantFrom(...Object.keys(reducers));

  it("turns of withTurn never overlap, and each sees what the one before it stored", async () => {
    const instances = fc.array(fc.nat(2), { minLength: 2, maxLength: 6 });
    await forAllAsync({ runs: 10, endOnFailure: true }, fc.tuple(instances, fc.integer()), async ([list, seed]) => {
      const { client, clients, network } = processes;
      await client.flushall();
      const memories = clients.map((each) => new RedisChatMemory({ client: each, redis: { commandTimeout: 60_000 } }));
      const seen: number[] = [];
      let running = 0;
      const turn = async (history: RedisChatMessageHistory) => {
        running += 1;
        expect(running).toBe(1);
        seen.push((await history.getMessages()).length);
        await history.append([human("question"), ai("answer")]);
        running -= 1;
      };
      await network.during(seed, () => Promise.all(list.map((each) => memories[each]!.withTurn("s", turn))));
      expect(seen).toEqual(list.map((_, index) => 2 * index));
      await Promise.all(memories.map((memory) => memory.close()));
    });
  });

  it.each(Object.keys(doors))("each turn is stored once, and answered as it is stored: %s", async (name) => {
    const door = doors[name]!;
    const property = fc.asyncProperty(runs, reducer, fc.integer(), async (list, reduces, seed) => {
      const { client, clients, network } = processes;
      await client.flushall();
      const open = (each: Redis) =>
        new RedisChatMemory({ client: each, redis: { commandTimeout: 60_000 }, ...given(reducers[reduces]!()) });
      const memories = clients.map(open);
      const last = open(client);
      const outcomes = await network.during(seed, async () => {
        const all = await Promise.all(list.map((run) => outcomeOf(door, memories[run.instance]!, run, network)));
        await Promise.all(memories.map((memory) => memory.drain()));
        return all;
      });
      // A job that runs again at the end finds its turn, whatever became of the others.
      for (const turn of new Set(list.map((run) => run.turn))) {
        outcomes.push({ turn, answer: await door(last, turn) });
      }
      await expectOnce(last, outcomes);
      await Promise.all([...memories, last].map((memory) => memory.close()));
    });
    // A run of an agent takes ten times as long as one of a chain.
    const count = name.startsWith("agent") ? 24 : 40;
    await fc.assert(property, { numRuns: propertyRuns(count), endOnFailure: true });
  });
});

const given = (reducer: ChatHistoryReducer | undefined) => (reducer === undefined ? {} : { reducer });

interface Outcome {
  readonly turn: number;
  readonly answer: string | undefined;
}

async function outcomeOf(
  door: Door,
  memory: RedisChatMemory,
  { turn, stop }: Run,
  network: SlowNetwork,
): Promise<Outcome> {
  const controller = new AbortController();
  if (stop !== undefined) {
    void network.wait(stop).then(() => controller.abort());
  }
  try {
    return { turn, answer: await door(memory, turn, controller.signal) };
  } catch (error) {
    if (!controller.signal.aborted) {
      throw error;
    }
    return { turn, answer: undefined };
  }
}

async function expectOnce(memory: RedisChatMemory, outcomes: readonly Outcome[]): Promise<void> {
  const transcript = await memory.history("s").getTranscript();
  expect(validateConversation(transcript)).toEqual([]);
  expect(validateConversation(await memory.history("s").getMessages())).toEqual([]);
  const texts = transcript.map(({ text }) => text);
  for (const turn of new Set(outcomes.map((outcome) => outcome.turn))) {
    expect(texts.filter((text) => text === question(turn))).toHaveLength(1);
    const answers = texts.filter((text) => text.startsWith("answer") && text.endsWith(` ${turn}`));
    expect(answers).toHaveLength(1);
    const given = outcomes.flatMap((each) => (each.turn === turn && each.answer !== undefined ? [each.answer] : []));
    expect([...new Set([...given, ...answers])]).toEqual(answers);
  }
}

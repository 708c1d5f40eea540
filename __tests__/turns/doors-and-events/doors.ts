import { type AIMessage, type BaseMessage, HumanMessage, isBaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Runnable, RunnableLambda } from "@langchain/core/runnables";
import type { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../../src/doors/chain/with-redis-memory.js";
import type { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import type { MemoryTurn } from "../../../src/memory/turns/manual-turn.js";
import { HistoryManager } from "../../../src/doors/tool-loop/history-manager.js";
import { lookup } from "../../support/agents.js";
import type { SceneModel } from "./scene.js";

/** A question of the caller. */
export interface Question {
  readonly text: string;
  readonly turnId: string;
  readonly signal?: AbortSignal | undefined;
  /** Called with each text as the caller gets it. */
  readonly onText?: ((text: string) => void) | undefined;
}

/** What a door is opened with: an instance, whose threads may outlive it. */
export interface DoorSetting {
  readonly memory: RedisChatMemory;
  readonly model: SceneModel;
  readonly sessionId: string;
  readonly persist: "step" | "turn";
  readonly threads: MemorySaver;
  /** Milliseconds for which the hold of a process that died keeps the next one waiting. @default the memory's */
  readonly holdMs?: number | undefined;
  /** True to have the chain's answers read as JSON. */
  readonly isParsed?: boolean | undefined;
}

/** Asks a question, and returns every text that the caller gets for it. */
export type Ask = (question: Question, way: string) => Promise<ReadonlySet<string>>;

/** A door of the package. */
export interface Door {
  /** The ways in which its runnable is called. */
  readonly ways: readonly string[];
  /** Those by which the caller gets an answer word by word. */
  readonly wordWays: readonly string[];
  /** When it stores a turn, whatever `persist` says. @default as `persist` says */
  readonly persists?: "step" | "turn";
  /** True if it stores a question that was refused for good all the same, with its mark. */
  readonly marksRefused?: boolean;
  /** What a repeated turn sends; undefined where its stored answer is given without a model call. */
  readonly repeats?: (before: string, question: string, stored: string) => string;
  readonly open: (setting: DoorSetting) => Ask;
}

/** Calls a runnable, and yields what the caller gets. */
type Call = (runnable: Runnable, input: unknown, config: object) => AsyncIterable<unknown>;

const streamed = (options: object): Call =>
  async function* (runnable, input, config) {
    yield* await runnable.stream(input, { ...config, ...options });
  };

const chainCalls: Readonly<Record<string, Call>> = {
  invoke: async function* (runnable, input, config) {
    yield await runnable.invoke(input, config);
  },
  stream: streamed({}),
  streamEvents: async function* (runnable, input, config) {
    for await (const { data } of runnable.streamEvents(input, { ...config, version: "v2" })) {
      yield { output: data.output, chunk: data.chunk };
    }
  },
};

const agentCalls: Readonly<Record<string, Call>> = {
  ...chainCalls,
  "stream values": streamed({ streamMode: "values" }),
  "stream updates": streamed({ streamMode: "updates" }),
  "stream messages": streamed({ streamMode: "messages" }),
  "stream [values]": streamed({ streamMode: ["values"] }),
  "stream [updates, messages]": streamed({ streamMode: ["updates", "messages"] }),
  "stream values, subgraphs": streamed({ streamMode: "values", subgraphs: true }),
  "stream debug": streamed({ streamMode: "debug" }),
  "stream [tasks, custom], subgraphs": streamed({ streamMode: ["tasks", "custom"], subgraphs: true }),
  "stream [messages, values], subgraphs": streamed({ streamMode: ["messages", "values"], subgraphs: true }),
};

/** Finds the texts in what a caller gets: of each part, and of the parts with one id together. */
class FoundTexts {
  readonly all = new Set<string>();
  readonly #byId = new Map<string, string>();
  readonly #onText: Question["onText"];
  #texts = "";

  constructor(onText: Question["onText"]) {
    this.#onText = onText;
  }

  add(part: unknown, depth = 0): void {
    if (typeof part === "string") {
      this.#texts += part;
      this.#note(part, this.#texts);
    } else if (isBaseMessage(part)) {
      if (part.type === "ai") {
        const id = part.id ?? "";
        this.#byId.set(id, (this.#byId.get(id) ?? "") + part.text);
        this.#note(part.text, this.#byId.get(id)!);
      }
    } else if (typeof part === "object" && part !== null && depth < 6) {
      this.#note(JSON.stringify(part));
      Object.values(part).forEach((inner) => this.add(inner, depth + 1));
    }
  }

  #note(...texts: readonly string[]): void {
    texts.forEach((text) => {
      this.all.add(text);
      this.#onText?.(text);
    });
  }
}

function asking(runnable: unknown, calls: Readonly<Record<string, Call>>, sessionId: string): Ask {
  return async ({ text, turnId, signal, onText }, way) => {
    const isAgent = calls === agentCalls;
    const question = new HumanMessage(text);
    const config = { configurable: { sessionId, thread_id: sessionId, turnId }, ...(signal && { signal }) };
    const input = isAgent ? { messages: [question] } : [question];
    const found = new FoundTexts(onText);
    for await (const part of calls[way]!(runnable as Runnable, input, config)) {
      found.add(part);
    }
    return found.all;
  };
}

function timesOf({ holdMs }: DoorSetting) {
  return holdMs === undefined ? {} : { oneTurnAtATime: { holdMs } };
}

function agentOf(setting: DoorSetting, checkpointer?: MemorySaver): Ask {
  const { memory, model, persist, sessionId } = setting;
  const middleware = [redisMemoryMiddleware({ memory, persist, ...timesOf(setting) })];
  const agent = createAgent({ model, tools: [lookup], middleware, ...(checkpointer && { checkpointer }) });
  return asking(agent, agentCalls, sessionId);
}

/** Calls the model until it asks for no more tools. */
async function loop(
  ask: () => Promise<AIMessage>,
  { add }: { readonly add: (message: BaseMessage) => unknown },
): Promise<AIMessage> {
  for (;;) {
    const answer = await ask();
    await add(answer);
    const [call] = answer.tool_calls ?? [];
    if (call === undefined) {
      return answer;
    }
    const content = String(await lookup.invoke(call.args as { query: string }));
    await add(new ToolMessage({ content, tool_call_id: call.id!, name: call.name }));
  }
}

const failing = (manager: HistoryManager) => async (error: unknown) => {
  await manager.failTurn(error);
  throw error;
};

const managerAsk =
  ({ memory, model, sessionId }: DoorSetting): Ask =>
  async ({ text, turnId, signal }) => {
    const manager = new HistoryManager({ history: memory.history(sessionId), maxInputTokens: 100_000 });
    const asked = { originalUserMessage: text, renderedUserMessage: text, renderedSystemMessage: "", turnId };
    const first = await manager.getHistoryForModelCall(asked).catch(failing(manager));
    if (first.replay !== undefined) {
      return new Set(first.replay.map((message) => message.text));
    }
    const ask = async () => model.invoke((await manager.getHistoryForModelCall(asked)).messages, signal && { signal });
    const add = async (message: BaseMessage) => {
      if (message instanceof ToolMessage) {
        await manager.addToolCallResults([{ id: message.tool_call_id, name: message.name!, content: message.text }]);
      } else {
        manager.addAssistantMessage(message);
      }
    };
    const answer = await loop(ask, { add }).catch(failing(manager));
    await manager.commit();
    return new Set([answer.text]);
  };

const ownLoopAsk =
  ({ memory, model, sessionId, holdMs }: DoorSetting): Ask =>
  ({ text, turnId, signal }) =>
    memory.withTurn(
      sessionId,
      async (history) => {
        const view = await history.getMessages();
        const turn: BaseMessage[] = [new HumanMessage(text)];
        const add = (message: BaseMessage) => turn.push(message);
        const ask = () => model.invoke([...view, ...turn], signal && { signal });
        const answer = await loop(ask, { add });
        await history.append(turn, { turnId });
        return new Set([answer.text]);
      },
      holdMs === undefined ? {} : { holdMs },
    );

const inputAsk =
  ({ memory, model, sessionId, holdMs }: DoorSetting): Ask =>
  ({ text, turnId, signal }) => {
    const answerOf = async (turn: MemoryTurn) => {
      const steps: BaseMessage[] = [];
      const ask = () => turn.ask({ model }, (messages) => model.invoke(messages, signal && { signal }));
      const add = async (message: BaseMessage) => {
        steps.push(message);
        await (message instanceof ToolMessage ? turn.step(steps.splice(0)) : undefined);
      };
      return turn.replay ?? [await turn.finish(await loop(ask, { add }))];
    };
    const options = { turnId, input: text, ...(holdMs !== undefined && { holdMs }) };
    const texts = async (_: unknown, turn: MemoryTurn) =>
      new Set((await answerOf(turn)).map((message) => message.text));
    return memory.withTurn(sessionId, texts, options);
  };

const waysOf = (calls: Readonly<Record<string, Call>>, showsWords: (way: string) => boolean) => {
  const ways = Object.keys(calls);
  return { ways, wordWays: ways.filter(showsWords) };
};
const ofChains = waysOf(chainCalls, (way) => way !== "invoke");
const ofAgents = waysOf(agentCalls, (way) => way === "streamEvents" || way.includes("messages"));
const ofLoops = { ways: ["model.invoke"], wordWays: [] };

/** Reads an answer that looks like an object as one. */
const parsed = new RunnableLambda({
  func: (answer: BaseMessage) => (answer.text.startsWith("{") ? (JSON.parse(answer.text) as object) : answer),
});

/** Every door, by its name. */
export const doors = {
  chain: {
    ...ofChains,
    open: (setting) => {
      const { memory, model, persist, sessionId, isParsed = false } = setting;
      const runnable: Runnable = isParsed ? model.pipe(parsed) : model;
      return asking(withRedisMemory(runnable, { memory, persist, ...timesOf(setting) }), chainCalls, sessionId);
    },
  },
  "chain over agent": {
    ...ofAgents,
    open: (setting) => {
      const { memory, model, persist, sessionId } = setting;
      const agent = createAgent({ model, tools: [lookup] });
      return asking(withRedisMemory(agent, { memory, persist, ...timesOf(setting) }), agentCalls, sessionId);
    },
  },
  agent: { ...ofAgents, open: (setting) => agentOf(setting) },
  "agent with checkpointer": { ...ofAgents, open: (setting) => agentOf(setting, setting.threads) },
  HistoryManager: { ...ofLoops, persists: "turn", marksRefused: true, open: managerAsk },
  "withTurn with an input": { ...ofLoops, persists: "step", open: inputAsk },
  "withTurn, own append": {
    ...ofLoops,
    persists: "turn",
    open: ownLoopAsk,
    repeats: (_, question, stored) => `${stored} ${question}`,
  },
} satisfies Readonly<Record<string, Door>>;

/** The name of a door. */
export type DoorName = keyof typeof doors;

/** A door by its name. */
export const doorOf = (name: DoorName): Door => doors[name];

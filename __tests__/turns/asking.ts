import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { lookup, type ToolModel } from "../support/agents.js";

/** A turn: what the client sends, and how. */
export interface Turn {
  readonly input: readonly BaseMessage[];
  readonly turnId?: string | undefined;
  /** @default "s" */
  readonly sessionId?: string;
  readonly oneTurnAtATime?: boolean;
}

/** Asks a model through a door, and returns its answer. */
export type Ask = (memory: RedisChatMemory, model: ToolModel, turn: Turn) => Promise<BaseMessage>;

const configOf = ({ turnId, sessionId = "s" }: Turn) => ({ configurable: { sessionId, ...(turnId && { turnId }) } });
const optionsOf = ({ oneTurnAtATime }: Turn) => (oneTurnAtATime === undefined ? {} : { oneTurnAtATime });

const chain =
  (persist: object = {}): Ask =>
  (memory, model, turn) =>
    withRedisMemory(model, { memory, ...persist, ...optionsOf(turn) }).invoke([...turn.input], configOf(turn));

const agent =
  (persist: object = {}): Ask =>
  async (memory, model, turn) => {
    const middleware = [redisMemoryMiddleware({ memory, ...persist, ...optionsOf(turn) })];
    const { messages } = await createAgent({ model, tools: [lookup], middleware }).invoke(
      { messages: [...turn.input] },
      configOf(turn),
    );
    return messages.at(-1)!;
  };

const manager: Ask = async (memory, model, { input, turnId, sessionId = "s" }) => {
  const made = new HistoryManager({ history: memory.history(sessionId), maxInputTokens: 100_000 });
  const question = input.at(-1)!.text;
  const { messages, replay } = await made.getHistoryForModelCall({
    ...{ originalUserMessage: question, renderedUserMessage: question, turnId },
    renderedSystemMessage: input.find(({ type }) => type === "system")?.text ?? "",
  });
  if (replay !== undefined) {
    return replay.at(-1) ?? input.at(-1)!;
  }
  const answer = await model.invoke(messages);
  made.addAssistantMessage(answer);
  await made.commit();
  return answer;
};

const langchain: Ask = (memory, model, turn) =>
  new RunnableWithMessageHistory<BaseMessage[], AIMessage>({
    ...{ runnable: model as never, getMessageHistory: memory.getMessageHistory, config: {} },
  }).invoke([...turn.input], configOf(turn));

const append: Ask = async (memory, model, { input, turnId, sessionId = "s" }) => {
  const history = memory.history(sessionId);
  const answer = await model.invoke([...(await history.getMessages()), ...input]);
  await history.append([...input, answer], turnId === undefined ? {} : { turnId });
  return answer;
};

/** Doors to one turn, by name; those that store steps are given no option but the memory. */
export const doors = {
  "a chain (step)": chain(),
  "a chain (turn)": chain({ persist: "turn" }),
  "an agent (step)": agent(),
  "an agent (turn)": agent({ persist: "turn" }),
  "a HistoryManager": manager,
  RunnableWithMessageHistory: langchain,
  "a plain append": append,
} as const;

/** The name of a door. */
export type DoorName = keyof typeof doors;

import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda, RunnableWithMessageHistory, type Runnable } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../../src/doors/chain/with-redis-memory.js";
import type { MemoryEvent } from "../../../src/base/events.js";
import { RedisSaver } from "../../../src/langgraph/checkpoint/redis-saver.js";
import { RedisStore } from "../../../src/langgraph/long-term/redis-store.js";
import { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import type { SessionStore } from "../../../src/store/contract/session-store.js";
import type { JournalWriter } from "../journal/journal-writer.js";
import type { SessionPlan } from "../plan/session-plan.js";
import type { AnswerDoor } from "./answer-door.js";
import { reducerOf } from "./reducers.js";
import { agentModel, answerTo } from "./scripted-models.js";
import { issuesOf } from "./lane.js";

/** Finds what it is asked for; its result begins with the token that its question names. */
const lookup = tool(({ query }: { query: string }) => `[${query}] found`, {
  name: "lookup",
  schema: z.object({ query: z.string() }),
});

const keys = [
  { id: "k1", key: Buffer.alloc(32, 7) },
  { id: "k2", key: Buffer.alloc(32, 9) },
] as const;

/** The keys of the sessions that are encrypted, and the same after a rotation. */
export const encryption = { current: keys[0], previous: [keys[1]] };
export const rotated = { current: keys[1], previous: [keys[0]] };

/** The input and the answer of an agent. */
export interface AgentLike {
  invoke(input: { messages: BaseMessage[] }, config: { configurable: Record<string, unknown> }): Promise<unknown>;
}

/** All ways into the memory of a kind of session. */
export interface Doors {
  readonly memory: RedisChatMemory;
  /** The store below encryption. */
  readonly store: SessionStore;
  /** Two instances that put checkpoints of the same threads on the memory's connection. */
  readonly savers: readonly [RedisSaver, RedisSaver];
  /** Long-term memory, whose items belong to the owner that their namespace names. */
  readonly items: RedisStore;
  readonly chain: Runnable<BaseMessage[], BaseMessage>;
  readonly agent: AgentLike;
  readonly withHistory: (note: (error: unknown) => void) => Runnable<BaseMessage[], unknown>;
  /** Requests to the models that a provider would refuse, since the last call. */
  readonly refused: () => string[];
  /** True where an event has said that a part of this turn was not stored, which is told once. */
  readonly isLeftOut: (turn: string) => boolean;
  /** Opens the runs of the process, once. */
  readonly answers: () => AnswerDoor;
}

/** Opens the doors for sessions of a kind; the stores are shared. */
export function openDoors(
  {
    reducer,
    reduceWhen,
    retention,
    persist,
    isEncrypted,
    holds,
    expires,
  }: Omit<SessionPlan, "id" | "removals" | "waits" | "owner">,
  {
    store,
    journal,
    answers = () => {
      throw new Error("A simulation has no connections for runs.");
    },
  }: { readonly store: SessionStore; readonly journal: JournalWriter; readonly answers?: () => AnswerDoor },
): Doors {
  const made = reducerOf(reducer, journal);
  // A run whose turn another run of it overtook resolves, and only the event says that it was not stored.
  const leftOut = new Set<string | undefined>();
  const onEvent = (event: MemoryEvent) =>
    void (event.type === "turn_not_stored" ? leftOut.add(event.turnId) : undefined);
  const more = {
    ...(made && { reducer: made }),
    ...(isEncrypted && { encryption }),
    ...(expires && { sessionTTL: 86_400 }),
  };
  const ownerNamespaces = (owner: string) => [[owner.replaceAll(".", "-")]];
  const memory = new RedisChatMemory({ store, reduceWhen, retention, onEvent, ownerNamespaces, ...more });
  let issues: string[] = [];
  const model = RunnableLambda.from((messages: BaseMessage[]) => {
    issues.push(...issuesOf(messages));
    return answerTo(messages, { calls: false });
  });
  let agent: AgentLike | undefined;
  const middleware = [redisMemoryMiddleware({ memory, persist, oneTurnAtATime: holds })];
  return {
    ...{ memory, store },
    items: new RedisStore({ memory }),
    savers: [new RedisSaver({ memory, keep: 2 }), new RedisSaver({ memory, keep: 2 })],
    chain: withRedisMemory(model, { memory, persist, oneTurnAtATime: holds }) as unknown as Runnable<
      BaseMessage[],
      BaseMessage
    >,
    // Made where it is needed: many a simulated process calls none.
    get agent() {
      return (agent ??= createAgent({ model: agentModel(), tools: [lookup], middleware }) as unknown as AgentLike);
    },
    withHistory: (note) =>
      new RunnableWithMessageHistory({
        runnable: model,
        // That class swallows errors of writes, so they are noted on their way.
        getMessageHistory: (sessionId: string) => noting(memory.getMessageHistory(sessionId), note),
        config: {},
      }),
    refused: () => {
      const found = issues;
      issues = [];
      return found;
    },
    isLeftOut: (turn) => leftOut.delete(turn),
    answers,
  };
}

function noting(history: ReturnType<RedisChatMemory["getMessageHistory"]>, note: (error: unknown) => void) {
  const addMessages = history.addMessages.bind(history);
  history.addMessages = async (messages) => {
    try {
      await addMessages(messages);
    } catch (error) {
      note(error);
      throw error;
    }
  };
  return history;
}

/** The question of a turn. */
export function questionOf(turn: string): HumanMessage {
  return new HumanMessage({ content: `[${turn}-0] question`, id: `${turn}-0` });
}

import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda, type Runnable } from "@langchain/core/runnables";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { MemoryEvent } from "../../../src/base/events.js";
import { withRedisMemory } from "../../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { redisRuns, type RedisRuns } from "../../../src/runs/redis-runs.js";
import type { SessionStore } from "../../../src/store/contract/session-store.js";
import type { JournalWriter } from "../journal/journal-writer.js";
import { tokensIn } from "../journal/runs.js";
import { partsOf } from "../journal/said-parts.js";
import { encryption, questionOf } from "./doors.js";

/** The door of running answers. A process has one, because each takes a connection of its own. */
export interface AnswerDoor {
  readonly memory: RedisChatMemory;
  readonly runs: RedisRuns;
  /** The work of a turn in a chat. */
  readonly work: (chat: string, turn: string) => (signal: AbortSignal) => Promise<AsyncIterable<BaseMessage>>;
}

const longestPauseMs = 15;

/** Opens the door on a store; its chats are encrypted. The journal notes what the memory leaves out of a chat. */
export function openAnswers(store: SessionStore, journal: JournalWriter): AnswerDoor {
  const onEvent = (event: MemoryEvent) => {
    if (event.type === "turn_not_stored" && event.turnId !== undefined) {
      const { sessionId: chat, turnId: turn } = event;
      journal.told(journal.ask({ do: "follow", chat, turn, door: "runs" }), { ok: false, leftOut: true });
    }
  };
  const memory = new RedisChatMemory({ store, encryption, onEvent });
  const model = RunnableLambda.from(speak) as unknown as Runnable<BaseMessage[], BaseMessage>;
  const chain = withRedisMemory(model, { memory }) as unknown as Runnable<BaseMessage[], BaseMessage>;
  return {
    memory,
    runs: redisRuns(memory),
    work: (chat, turn) => (signal) =>
      chain.stream([questionOf(turn)], { configurable: { sessionId: chat, turnId: turn }, signal }),
  };
}

/** Answers the newest question, one part after the other. */
async function* speak(messages: BaseMessage[]): AsyncGenerator<AIMessageChunk> {
  const question = messages.findLast((message) => message.getType() === "human");
  const [token] = tokensIn(question?.text ?? "");
  const id = randomUUID();
  for (const content of partsOf(token?.turn ?? "unknown")) {
    yield new AIMessageChunk({ id, content });
    await pause(Math.random() * longestPauseMs);
  }
}

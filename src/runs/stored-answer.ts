import { storedOutput } from "../chain/messages.js";
import type { RedisChatMemory } from "../memory/redis-chat-memory.js";
import { sessionOf } from "../memory/redis-chat-message-history.js";
import { answerStart } from "../session/turn-messages.js";
import type { SessionRef } from "../store/session-ref.js";
import { openTurn } from "../turns/open-turn.js";
import type { RunItem } from "./run.js";

/** Those of some ids of messages that a session holds. One round trip. */
export async function storedIds(
  memory: RedisChatMemory,
  { id, owner }: SessionRef,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const session = sessionOf("runs.start", memory.history(id, owner === undefined ? {} : { owner }));
  const { stored, entries } = await session.readForTurn({ turnId: undefined, ids });
  const inView = new Set(entries.map(({ message }) => message.id));
  return new Set(ids.filter((each, index) => stored.positions?.[index] !== undefined || inView.has(each)));
}

/** The stored answer of a turn, and how it ended; nothing where there is no turn, or nothing of its answer. */
export async function storedAnswer(
  memory: RedisChatMemory,
  { id, owner }: SessionRef,
  turnId: string | undefined,
): Promise<RunItem[]> {
  if (turnId === undefined) {
    return [];
  }
  const session = sessionOf("runs.join", memory.history(id, owner === undefined ? {} : { owner }));
  const { stored, state } = await openTurn({ session, turnId, input: [] });
  const messages = stored.slice(answerStart(stored)).map(({ message }) => message);
  if (messages.length === 0) {
    return [];
  }
  const answer = { chunk: storedOutput(stored)?.value ?? messages, stored: true } as const;
  return state === "open" ? [answer] : [answer, { state: state === "interrupted" ? "stopped" : "done" }];
}

import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatHistoryTruncationReducer, MemoryError, RedisChatMemory, StoreError } from "langchain-redis-memory";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { uniquePrefix } from "./shared-redis.js";

/** A turn that a writer sent, again and again until it was acknowledged or the writer gave up. */
export interface JournalEntry {
  readonly session: string;
  readonly writer: number;
  readonly turn: number;
  /** The texts of its messages, which no other turn has. */
  readonly texts: readonly string[];
  acknowledged: boolean;
  /** `performance.now()` of the acknowledgement. */
  toldAt?: number;
  /** Sends the turn again, as a job that is run once more: with the same ids or the same `turnId`. */
  readonly send: (memory: RedisChatMemory) => Promise<{ readonly appended: number }>;
}

/** What the writers asked and what they were told. */
export interface Journal {
  readonly keyPrefix: string;
  readonly sessions: readonly string[];
  readonly entries: readonly JournalEntry[];
  /** Failed tries by the code of their error. */
  readonly failures: Readonly<Record<string, number>>;
  /** Messages that a writer had been told are stored, and that its next read did not show. */
  readonly unseen: readonly string[];
}

/** Options of {@link writeWhile}. */
export interface BusyWriters {
  /** One client for each writer; closed by the caller. */
  readonly clients: readonly RedisClient[];
  readonly waitReplicas?: number;
  /** @default 2000 */
  readonly commandTimeout?: number;
  /** Sessions that all writers share. @default 3 */
  readonly sessionCount?: number;
  /** Turns that each writer writes at least. @default 30 */
  readonly atLeast?: number;
  /** Milliseconds that a writer rests between two turns. @default 3 */
  readonly rest?: number;
}

/** How long a turn is tried. */
const patienceMs = 100_000;

/**
 * Lets writers write to the same sessions for as long as the work takes. Turns have ids or a `turnId` in turn, some
 * hold a tool step, and some are sent twice. A failed call is made again, as its error allows.
 *
 * @throws the first error that is no StoreError that may be tried again.
 */
export async function writeWhile(options: BusyWriters, work: () => Promise<unknown>): Promise<Journal> {
  const { clients, sessionCount = 3, atLeast = 30, rest = 3, waitReplicas, commandTimeout = 2_000 } = options;
  const keyPrefix = uniquePrefix();
  const sessions = Array.from({ length: sessionCount }, (_, index) => `s${index}`);
  const log = { entries: [] as JournalEntry[], failures: {} as Record<string, number>, unseen: [] as string[] };
  let working = true;
  const write = async (client: RedisClient, writer: number) => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 8, thresholdCount: 6 });
    const memory = new RedisChatMemory({ client, redis: { keyPrefix, commandTimeout, waitReplicas }, reducer });
    for (let turn = 0; working || turn < atLeast; turn += 1) {
      const entry = newTurn(sessions[(turn + writer) % sessionCount]!, writer, turn);
      log.entries.push(entry);
      await untilTold(entry, memory, log.failures);
      if (turn % 5 === 0) {
        await untilTold(entry, memory, log.failures);
        await noteUnseen(entry, memory, log);
      }
      await new Promise((resolve) => setTimeout(resolve, rest));
    }
    await memory.close();
  };
  const writing = Promise.all(clients.map(write));
  try {
    await Promise.race([work(), writing.then(() => new Promise<never>(() => undefined))]);
  } finally {
    working = false;
  }
  await writing;
  return { keyPrefix, sessions, ...log };
}

function newTurn(session: string, writer: number, turn: number): JournalEntry {
  const name = `w${writer}t${turn}`;
  const hasStep = turn % 4 === 3;
  const texts = hasStep ? [`${name}q`, `${name}c`, `${name}r`, `${name}a`] : [`${name}q`, `${name}a`];
  const messages = (withIds: boolean): BaseMessage[] =>
    texts.map((content) => {
      const id = withIds ? { id: content } : {};
      if (content.endsWith("q")) {
        return new HumanMessage({ content, ...id });
      }
      if (content.endsWith("r")) {
        return new ToolMessage({ content, tool_call_id: name, ...id });
      }
      const calls = content.endsWith("c") ? { tool_calls: [{ id: name, name: "lookup", args: {} }] } : {};
      return new AIMessage({ content, ...calls, ...id });
    });
  const send = (memory: RedisChatMemory) =>
    turn % 2 === 0
      ? memory.history(session).append(messages(true))
      : memory.history(session).append(messages(false), { turnId: name });
  return { session, writer, turn, texts, acknowledged: false, send };
}

async function untilTold(
  entry: JournalEntry,
  memory: RedisChatMemory,
  failures: Record<string, number>,
): Promise<void> {
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      await entry.send(memory);
      entry.acknowledged = true;
      entry.toldAt = performance.now();
      return;
    } catch (error) {
      if (!StoreError.isInstance(error) || !error.retryable || performance.now() > end) {
        throw error;
      }
      failures[error.code] = (failures[error.code] ?? 0) + 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function noteUnseen(entry: JournalEntry, memory: RedisChatMemory, log: { unseen: string[] }): Promise<void> {
  try {
    const seen = new Set((await memory.history(entry.session).getTranscript()).map(({ text }) => text));
    log.unseen.push(...entry.texts.filter((text) => !seen.has(text)));
  } catch (error) {
    if (!MemoryError.isInstance(error) || !error.retryable) {
      throw error;
    }
  }
}

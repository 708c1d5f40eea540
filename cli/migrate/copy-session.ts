import { setTimeout as pause } from "node:timers/promises";
import type { BaseMessage } from "@langchain/core/messages";
import { digestMessage } from "../../src/store/codec/encode-message.js";
import { ConflictError, StoreError } from "../../src/base/errors.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { positionConflict } from "../../src/store/contract/refusals.js";
import { type Skipped, type SourceSession, holdsAllOf } from "./source.js";

/** The outcome of copying a session. */
export interface Copied {
  /** Messages that were stored now. */
  appended: number;
  /** Messages that were stored before. */
  duplicates: number;
  /** Elements that cannot be read. */
  skipped: number;
}

/** How to copy. */
export interface CopySetting {
  /** True to read only. */
  readonly isDry: boolean;
  readonly pace: Pace;
  readonly signal: AbortSignal;
  /** Called after each page, with what could not be read there. */
  readonly onPage: (messages: number, skipped: readonly Skipped[]) => Promise<void>;
}

/** Lets at most a number of messages pass in a second. */
export class Pace {
  readonly #perSecond: number;
  #since = performance.now();
  #passed = 0;

  constructor(perSecond = Infinity) {
    this.#perSecond = perSecond;
  }

  /** Waits until `count` more messages may pass. */
  async pass(count: number): Promise<void> {
    this.#passed += count;
    const due = (this.#passed / this.#perSecond) * 1_000;
    const early = due - (performance.now() - this.#since);
    if (early > 1) {
      await pause(early);
    }
  }
}

/**
 * Copies what is not copied yet, page by page, each message to the position that it has in its source. A message that
 * is stored is found by its id, and not stored again.
 *
 * @throws ConflictError `position` where the session holds something else at that position.
 */
export async function copySession(
  source: SourceSession,
  target: RedisChatMessageHistory,
  { isDry, pace, signal, onPage }: CopySetting,
): Promise<Copied> {
  const copied: Copied = { appended: 0, duplicates: 0, skipped: 0 };
  const skipped: Skipped[] = [];
  let position = 0;
  for await (const page of source.pages((one) => skipped.push(one))) {
    if (signal.aborted) {
      return copied;
    }
    if (page.length > 0) {
      const messages = page.map(({ message }) => message);
      const { appended, duplicates } = await (isDry ? seenAt : appendAt)(target, position, messages);
      position += page.length;
      copied.appended += appended;
      copied.duplicates += duplicates;
    }
    copied.skipped += skipped.length;
    await onPage(page.length, skipped.splice(0));
    await pace.pass(page.length);
  }
  return copied;
}

/** Says what {@link appendAt} would do, by the ids of what is stored there. */
async function seenAt(
  target: RedisChatMessageHistory,
  position: number,
  messages: readonly BaseMessage[],
): Promise<Pick<Copied, "appended" | "duplicates">> {
  const stored = await target.getTranscript({ from: position, limit: messages.length });
  if (stored.some(({ id }, index) => id !== messages[index]!.id)) {
    throw positionConflict(target.sessionId, position, position + stored.length);
  }
  return { appended: messages.length - stored.length, duplicates: stored.length };
}

/** Appends messages at a position: in halves where they are too large for one write, else what is stored by itself. */
async function appendAt(
  target: RedisChatMessageHistory,
  position: number,
  messages: readonly BaseMessage[],
): Promise<Pick<Copied, "appended" | "duplicates">> {
  try {
    return await target.append(messages, { expectedNext: position });
  } catch (error) {
    const at = placeToSplit(error, position, messages.length);
    if (at === undefined) {
      throw error;
    }
    const first = await appendAt(target, position, messages.slice(0, at));
    const second = await appendAt(target, position + at, messages.slice(at));
    return { appended: first.appended + second.appended, duplicates: first.duplicates + second.duplicates };
  }
}

/** The place to cut refused messages, so that each part may be stored; undefined where no part would be. */
function placeToSplit(error: unknown, position: number, length: number): number | undefined {
  if (StoreError.isInstance(error) && error.code === "too_large" && length > 1) {
    return Math.ceil(length / 2);
  }
  // The session ends within these messages: those before its end may be its last ones.
  const next = ConflictError.isInstance(error) && error.code === "position" ? error.next : undefined;
  return next !== undefined && next > position && next < position + length ? next - position : undefined;
}

/** The first message that differs; `index` counts the messages that could be read, from the oldest. */
export interface Difference {
  readonly index: number;
  readonly reason: "missing" | "other id" | "other content" | "not all of its source was read";
}

const pageSize = 100;

/**
 * Compares both sides message by message: ids and content, and the texts and numbers of the source's bytes. The copy
 * may hold more behind them: the conversation may have gone on.
 */
export async function compareSession(
  session: SourceSession,
  target: RedisChatMessageHistory,
): Promise<Difference | undefined> {
  let position = 0;
  for await (const page of session.pages(() => undefined)) {
    for (let first = 0; first < page.length; first += pageSize) {
      const expected = page.slice(first, first + pageSize);
      const stored = await target.getTranscript({ from: position, limit: expected.length });
      for (const [offset, { message, source }] of expected.entries()) {
        const reason = difference(message, source, stored[offset]);
        if (reason !== undefined) {
          return { index: position + offset, reason };
        }
      }
      position += expected.length;
    }
  }
  return undefined;
}

function difference(
  message: BaseMessage,
  source: string,
  stored: BaseMessage | undefined,
): Difference["reason"] | undefined {
  if (stored === undefined) {
    return "missing";
  }
  if (stored.id !== message.id) {
    return "other id";
  }
  if (digestMessage(stored) !== digestMessage(message)) {
    return "other content";
  }
  return holdsAllOf(source, stored) ? undefined : "not all of its source was read";
}

import { setTimeout as pause } from "node:timers/promises";
import type { BaseMessage } from "@langchain/core/messages";
import { digestMessage } from "../../src/codec/encode-message.js";
import { StoreError } from "../../src/base/errors.js";
import type { RedisChatMessageHistory } from "../../src/memory/redis-chat-message-history.js";
import type { Skipped, SourceSession } from "./source.js";
import { holdsAllOf } from "./source-values.js";

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

/** Copies what is not copied yet, page by page. A message that is stored is found by its id, and not stored again. */
export async function copySession(
  source: SourceSession,
  target: RedisChatMessageHistory,
  { isDry, pace, signal, onPage }: CopySetting,
): Promise<Copied> {
  const copied: Copied = { appended: 0, duplicates: 0, skipped: 0 };
  const skipped: Skipped[] = [];
  for await (const page of source.pages((one) => skipped.push(one))) {
    if (signal.aborted) {
      return copied;
    }
    if (isDry) {
      copied.appended += page.length;
    } else if (page.length > 0) {
      const { appended, duplicates } = await appendInParts(
        target,
        page.map(({ message }) => message),
      );
      copied.appended += appended;
      copied.duplicates += duplicates;
    }
    copied.skipped += skipped.length;
    await onPage(page.length, skipped.splice(0));
    await pace.pass(page.length);
  }
  return copied;
}

/** Appends messages, in halves where they are too large for one write. */
async function appendInParts(
  target: RedisChatMessageHistory,
  messages: readonly BaseMessage[],
): Promise<Pick<Copied, "appended" | "duplicates">> {
  try {
    return await target.append(messages);
  } catch (error) {
    if (!StoreError.isInstance(error) || error.code !== "too_large" || messages.length < 2) {
      throw error;
    }
  }
  const middle = Math.ceil(messages.length / 2);
  const first = await appendInParts(target, messages.slice(0, middle));
  const second = await appendInParts(target, messages.slice(middle));
  return { appended: first.appended + second.appended, duplicates: first.duplicates + second.duplicates };
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

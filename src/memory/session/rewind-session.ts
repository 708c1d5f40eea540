import type { BaseMessage } from "@langchain/core/messages";
import { maxTries } from "../../base/bounds.js";
import { identifyRecord, lastIdOf } from "../../store/codec/stored-record.js";
import { metaOf } from "../../store/codec/decode-record.js";
import { ConfigurationError, ConflictError, StoreError } from "../../base/errors.js";
import { keptChanging, sessionLabel, positionConflict } from "../../store/contract/refusals.js";
import { wholeLog, type StoredPage } from "../../store/contract/session-data.js";
import type { RewindRequest } from "../../store/contract/session-writes.js";
import type { SessionOfMemory } from "./memory-context.js";
import { decodeEntries } from "./view.js";
import { messageIdOf } from "../../store/codec/encode-message.js";
import type { AppendOptions, AppendOutcome, TurnAppendOptions, TurnOutcome, TurnSettings } from "./append-input.js";

/** Messages that one request removes at most, so that Redis serves others in between. */
const pieceLength = 1_000;

/**
 * Removes a message and all after it from a session, and forgets the turns that were removed. One read of this part of
 * the log, and one write by compare-and-set; more than 1,000 messages are removed in pieces, the newest first.
 *
 * @throws ConfigurationError for an invalid id; ConflictError `unknown_message`, also for a message that a reduction
 * discards meanwhile, or `stale` if other processes kept changing the session.
 */
export async function rewindTo(session: SessionOfMemory, messageId: string): Promise<void> {
  const { sessionId, ref, context } = session;
  if (typeof messageId !== "string" || messageId === "") {
    throw new ConfigurationError("messageId", 'rewind(): "messageId" must be a non-empty string.');
  }
  const { data, edits } = context.store;
  let last: StoredPage | undefined;
  for (let attempt = 1; attempt <= maxTries.edit;) {
    const page = await data.readPage(ref, { since: messageId, limit: pieceLength });
    if (page === undefined && last !== undefined && !(await isDiscarded(session, last))) {
      // An earlier try removed it but its reply was lost, or another process did.
      return;
    }
    if (page === undefined) {
      const message = "rewind(): the session has no message with this id; use an id from the transcript or a page.";
      throw new ConflictError(message, { code: "unknown_message", sessionId, messageId });
    }
    last = page;
    const isRest = page.to === page.next;
    const end = isRest ? page : await data.readPage(ref, { after: page.next - pieceLength - 1, limit: wholeLog });
    // In the state of the first read: a log that was cut meanwhile may end before the message.
    const outcome = end && (await edits.rewind(ref, cutOf({ ...end, epoch: page.epoch, rev: page.rev })));
    if (outcome === "rewound" && isRest) {
      return;
    }
    attempt += outcome === "rewound" ? 0 : 1;
  }
  throw keptChanging("rewind", sessionId);
}

/**
 * Removes the newest message and returns it; undefined if there is none.
 *
 * @throws RecordError, before anything is removed, for a message that cannot be read; ConflictError `stale`; StoreError
 * that is not `retryable` where the outcome is unknown, since a second call would remove another message.
 */
export async function removeLast({ sessionId, ref, context }: SessionOfMemory): Promise<BaseMessage | undefined> {
  const { store, onEvent } = context;
  for (let attempt = 1; attempt <= maxTries.edit; attempt += 1) {
    const page = await store.data.readPage(ref, { limit: 1 });
    const [entry] = decodeEntries(page?.records ?? [], { sessionId, strict: true, onEvent }, page?.from ?? 0);
    if (page === undefined || entry === undefined) {
      return undefined;
    }
    const outcome = await store.edits.rewind(ref, cutOf(page)).catch((error: unknown) => {
      if (!StoreError.isInstance(error) || !error.retryable) {
        throw error;
      }
      const message = `removeLast() may have removed the newest message of ${sessionLabel(sessionId)}; read it first.`;
      throw new StoreError(message, { code: error.code, operation: "removeLast", sessionId, retryable: false });
    });
    if (outcome === "rewound") {
      return entry.message;
    }
  }
  throw keptChanging("removeLast", sessionId);
}

async function isDiscarded({ ref, context }: SessionOfMemory, { epoch, from }: StoredPage): Promise<boolean> {
  const now = await context.store.data.readPage(ref, { limit: 1 });
  return now?.epoch === epoch && now.base > from;
}

/** The cut that removes all records of the page, which ends with the log. */
function cutOf({ epoch, rev, next, from, records }: StoredPage): RewindRequest {
  const removed = new Map<string, number>();
  for (const record of records) {
    const { turn } = metaOf(record);
    if (turn !== undefined) {
      removed.set(turn, (removed.get(turn) ?? 0) + 1);
    }
  }
  const forget = records.flatMap((record) => identifyRecord(record)?.id ?? []);
  const turns = [...removed].map(([name, count]) => ({ name, removed: count }));
  return { epoch, rev, next, ...lastIdOf(records), to: from, forget, turns };
}

/** Request to replace a message and everything after it. */
export interface Replacement {
  readonly session: SessionOfMemory;
  readonly messageId: string;
  readonly messages: readonly BaseMessage[];
  readonly options: Omit<AppendOptions, "turn">;
  /** Writes the messages in place of the end of the log. */
  write(options: TurnAppendOptions & { readonly turn: TurnSettings }): Promise<TurnOutcome>;
}

/**
 * Replaces a message and everything after it: one read of this part of the log, and one write by compare-and-set. Both
 * are repeated if others wrote or reduced in between.
 *
 * @throws ConflictError `unknown_message`; `position` if the end of the log is not `expectedNext`; `stale` after three
 * tries.
 */
export async function replaceFrom(replacement: Replacement): Promise<AppendOutcome> {
  const { session, messageId, options, write } = replacement;
  const { sessionId, ref, context } = session;
  const { expectedNext, ...rest } = options;
  const { data } = context.store;
  if (replacement.messages.length === 0) {
    throw new ConfigurationError("messages", "replaceFrom: give at least one message; rewind() only removes messages.");
  }
  for (let attempt = 1; attempt <= maxTries.edit; attempt += 1) {
    const page = await data.readPage(ref, { since: messageId, limit: wholeLog });
    if (page === undefined) {
      return repetition(replacement);
    }
    if (expectedNext !== undefined && page.next !== expectedNext) {
      throw positionConflict(sessionId, expectedNext, page.next);
    }
    const outcome = await write({ ...rest, turn: { cut: cutOf(page), triesAgain: true } });
    if (outcome.refused === undefined) {
      const { appended, duplicates, next, repeated } = outcome;
      return { appended, duplicates, next, repeated };
    }
  }
  throw keptChanging("replaceFrom", sessionId);
}

/** The outcome of a repeated call whose first reply was lost: the log already ends with the messages. */
async function repetition({ session, messageId, messages, options }: Replacement): Promise<AppendOutcome> {
  const { sessionId, ref, context } = session;
  const { turnId } = options;
  const ids = messages.map((message, index) =>
    messageIdOf(message, { index, ...(turnId !== undefined && { turnId }) }),
  );
  const first = ids[0];
  const { data } = context.store;
  const page = first === undefined ? undefined : await data.readPage(ref, { since: first, limit: ids.length });
  const stored = page?.records.map((record) => identifyRecord(record)?.id);
  if (page !== undefined && page.to === page.next && ids.every((id, index) => stored?.[index] === id)) {
    return { appended: 0, duplicates: ids.length, next: page.next, repeated: false };
  }
  const message = "replaceFrom(): the session has no message with this id; use an id from the transcript or a page.";
  throw new ConflictError(message, { code: "unknown_message", sessionId, messageId });
}

import { maxTries } from "../base/tries.js";
import { identifyRecord, lastIdOf } from "../codec/message-ids.js";
import { metaOf } from "../codec/decode-record.js";
import { ConfigurationError, ConflictError } from "../base/errors.js";
import { keptChanging } from "../store/refusals.js";
import type { LogPage } from "../store/session-reads.js";
import type { TurnRemainder } from "../store/turns.js";
import type { SessionOfMemory } from "./session-of-memory.js";

/**
 * Removes a message and all after it from a session, and forgets the turns that were removed.
 *
 * @throws ConfigurationError for an invalid id; ConflictError `unknown_message`, also for a message that a reduction
 * discards meanwhile, or `stale` if other processes kept changing the session.
 */
export async function rewindTo({ sessionId, ref, context }: SessionOfMemory, messageId: string): Promise<void> {
  if (typeof messageId !== "string" || messageId === "") {
    throw new ConfigurationError("messageId", 'rewind(): "messageId" must be a non-empty string.');
  }
  const store = context.store;
  let last: { readonly epoch: string; readonly to: number } | undefined;
  for (let attempt = 1; attempt <= maxTries.edit; attempt += 1) {
    const { epoch, rev, next } = await store.readView(ref);
    const page = await store.readLog(ref);
    const ids = page.records.map((record) => identifyRecord(record)?.id);
    const index = ids.lastIndexOf(messageId);
    const isDiscarded = last?.epoch === epoch && page.from > last.to;
    if (index < 0 && last !== undefined && !isDiscarded) {
      // It existed before: an earlier try removed it but its reply was lost, or another process did.
      return;
    }
    if (index < 0) {
      const message = "rewind(): the session has no message with this id; use an id from the transcript or a page.";
      throw new ConflictError(message, { code: "unknown_message", sessionId, messageId });
    }
    const to = page.from + index;
    last = { epoch, to };
    const forget = ids.slice(index).filter((id) => id !== undefined);
    const turns = turnsCutAt(page, to);
    const isAsRead = page.next === next;
    const read = { epoch, rev, next, ...lastIdOf(page.records) };
    if (isAsRead && (await store.edits.rewind(ref, { ...read, to, forget, turns })) === "rewound") {
      return;
    }
  }
  throw keptChanging("rewind", sessionId);
}

/** Remainder of each turn that loses records by a cut before a position. Linear. */
function turnsCutAt({ records, from }: Pick<LogPage, "records" | "from">, to: number): TurnRemainder[] {
  const names = records.map((record) => metaOf(record).turn);
  const remainders = new Map<string, { count: number; first: number }>();
  for (const name of names.slice(to - from)) {
    if (name !== undefined) {
      remainders.set(name, { count: 0, first: to });
    }
  }
  for (let index = to - from - 1; index >= 0 && remainders.size > 0; index -= 1) {
    const remainder = remainders.get(names[index] ?? "");
    if (remainder !== undefined) {
      remainder.count += 1;
      remainder.first = from + index;
    }
  }
  return [...remainders].map(([name, { count, first }]) => ({ name, count, first }));
}

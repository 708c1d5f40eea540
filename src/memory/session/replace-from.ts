import { maxTries } from "../../base/tries.js";
import type { BaseMessage } from "@langchain/core/messages";
import { identifyRecord, messageIdOf } from "../../store/codec/message-ids.js";
import { ConfigurationError, ConflictError } from "../../base/errors.js";
import { keptChanging, positionConflict } from "../../store/contract/refusals.js";
import type { AppendOptions, AppendOutcome, TurnAppendOptions, TurnOutcome, TurnSettings } from "./append-options.js";
import { wholeLog } from "../../store/contract/session-pages.js";
import { cutOf } from "./rewind-session.js";
import type { SessionOfMemory } from "./memory-context.js";

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

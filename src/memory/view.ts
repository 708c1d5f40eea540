import type { BaseMessage } from "@langchain/core/messages";
import { decodeHead, decodeRecord } from "../codec/index.js";
import { answeredCallId } from "../conversation/roles.js";
import { findOrphanResults } from "../conversation/steps.js";
import { MemoryError } from "../errors.js";
import { report, type MemoryEventHandler } from "../events.js";
import type { SessionView } from "../store/session-store.js";
import { rememberTokens } from "../tokens/counted-messages.js";

/** A message as it is stored; `position` is its place in the log, undefined for one that lives in the head. */
export interface StoredEntry {
  readonly message: BaseMessage;
  readonly record: string;
  readonly position: number | undefined;
}

/** A view as it was read, and the messages of it that can be shown to a model. */
export interface DecodedView {
  readonly stored: SessionView;
  readonly entries: readonly StoredEntry[];
}

/** How records are read. */
export interface DecodeOptions {
  readonly sessionId: string;
  readonly strict: boolean;
  readonly onEvent: MemoryEventHandler | undefined;
}

/** The messages of a view, oldest first, without tool results whose call is not in it and without unreadable records; both are reported. */
export function decodeView(stored: SessionView, options: DecodeOptions): DecodedView {
  if (stored.damaged) {
    report(options.onEvent, { type: "damaged", sessionId: options.sessionId, operation: "readView" });
  }
  const log = decodeEntries(stored.records, options, stored.start);
  const entries = stored.head === "" ? log : [...decodeEntries(headRecords(stored.head, options), options), ...log];
  const orphans = findOrphanResults(entries.map(({ message }) => message));
  if (orphans.length === 0) {
    return { stored, entries };
  }
  for (const index of orphans) {
    const { message } = entries[index]!;
    report(options.onEvent, {
      type: "tool_result_hidden",
      sessionId: options.sessionId,
      messageId: message.id,
      toolCallId: answeredCallId(message) ?? "",
    });
  }
  const hidden = new Set(orphans);
  return { stored, entries: entries.filter((_, index) => !hidden.has(index)) };
}

/** The messages of consecutive records of the log from position `from` on; without it, of the head. */
export function decodeEntries(records: readonly string[], options: DecodeOptions, from?: number): StoredEntry[] {
  const entries: StoredEntry[] = [];
  for (let index = 0; index < records.length; index += 1) {
    const record = records[index]!;
    const position = from === undefined ? undefined : from + index;
    try {
      entries.push({ message: decodeCounted(record, position), record, position });
    } catch (error) {
      reportSkipped(error, { ...options, position });
    }
  }
  return entries;
}

function decodeCounted(record: string, position: number | undefined): BaseMessage {
  const { message, tokens } = decodeRecord(record, position);
  for (const counterId in tokens) {
    rememberTokens(message, counterId, tokens[counterId]!);
  }
  return message;
}

function headRecords(head: string, options: DecodeOptions): string[] {
  try {
    return decodeHead(head);
  } catch (error) {
    reportSkipped(error, { ...options, position: undefined });
    return [];
  }
}

/** Throws on where a record must not be skipped. */
function reportSkipped(error: unknown, { strict, onEvent, sessionId, position }: DecodeOptions & { readonly position: number | undefined }): void {
  if (strict || !MemoryError.isInstance(error)) {
    throw error;
  }
  report(onEvent, { type: "record_skipped", sessionId, position, error });
}

import type { BaseMessage } from "@langchain/core/messages";
import { decodeHead } from "../codec/head.js";
import { decodeRecord } from "../codec/decode-record.js";
import { answeredId } from "../messages/calls.js";
import { findOrphanResults } from "../conversation/steps.js";
import { MemoryError } from "../errors.js";
import { report, type MemoryEventHandler } from "../events.js";
import type { SessionView } from "../store/session-reads.js";
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

/**
 * The messages of a view, oldest first, without tool results whose call is not in it and without unreadable records;
 * both are reported.
 */
export function viewMessages(stored: SessionView, options: DecodeOptions): BaseMessage[] {
  return shown(stored, options, { keep: (message) => message, messagesOf: (messages) => messages });
}

/** The same messages, each with its record. */
export function decodeView(stored: SessionView, options: DecodeOptions): DecodedView {
  const entries = shown<StoredEntry>(stored, options, {
    keep: (message, record, position) => ({ message, record, position }),
    messagesOf: (kept) => kept.map(({ message }) => message),
  });
  return { stored, entries };
}

/** The same messages with their records and positions. */
export function decodeEntries(records: readonly string[], options: DecodeOptions, from: number): StoredEntry[] {
  const keep = (message: BaseMessage, record: string, position: number | undefined) => ({ message, record, position });
  return decodeEach<StoredEntry>(records, options, { from, keep });
}

/** The messages of consecutive records of the log from position `from` on. */
export function decodeMessages(records: readonly string[], options: DecodeOptions, from: number): BaseMessage[] {
  return decodeEach(records, options, { from, keep: (message) => message });
}

/** What is kept of each message of a view. */
interface Kept<T> {
  readonly keep: (message: BaseMessage, record: string, position: number | undefined) => T;
  readonly messagesOf: (kept: readonly T[]) => readonly BaseMessage[];
}

function shown<T>(stored: SessionView, options: DecodeOptions, { keep, messagesOf }: Kept<T>): T[] {
  reportDamage(stored, options);
  const log = decodeEach(stored.records, options, { from: stored.start, keep });
  const all =
    stored.head === ""
      ? log
      : [...decodeEach(headRecords(stored.head, options), options, { from: undefined, keep }), ...log];
  const hidden = hiddenResults(messagesOf(all), options);
  return hidden === undefined ? all : all.filter((_, index) => !hidden.has(index));
}

/** Records of the log, or without a position those of a head. */
function decodeEach<T>(
  records: readonly string[],
  options: DecodeOptions,
  { from, keep }: Pick<Kept<T>, "keep"> & { readonly from: number | undefined },
): T[] {
  const kept: T[] = [];
  for (let index = 0; index < records.length; index += 1) {
    const record = records[index]!;
    const position = from === undefined ? undefined : from + index;
    const message = decodeOrSkip(record, position, options);
    if (message !== undefined) {
      kept.push(keep(message, record, position));
    }
  }
  return kept;
}

function decodeOrSkip(record: string, position: number | undefined, options: DecodeOptions): BaseMessage | undefined {
  try {
    return decodeCounted(record, position);
  } catch (error) {
    reportSkipped(error, { ...options, position });
    return undefined;
  }
}

/** Indexes of tool results whose call is not in the view; undefined where there are none. */
function hiddenResults(
  messages: readonly BaseMessage[],
  { onEvent, sessionId }: DecodeOptions,
): ReadonlySet<number> | undefined {
  const orphans = findOrphanResults(messages);
  for (const index of orphans) {
    const message = messages[index]!;
    report(onEvent, {
      type: "tool_result_hidden",
      sessionId,
      messageId: message.id,
      toolCallId: answeredId(message) ?? "",
    });
  }
  return orphans.length === 0 ? undefined : new Set(orphans);
}

function reportDamage({ damaged }: SessionView, { onEvent, sessionId }: DecodeOptions): void {
  if (damaged) {
    report(onEvent, { type: "damaged", sessionId, operation: "readView" });
  }
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
function reportSkipped(
  error: unknown,
  { strict, onEvent, sessionId, position }: DecodeOptions & { readonly position: number | undefined },
): void {
  if (strict || !MemoryError.isInstance(error)) {
    throw error;
  }
  report(onEvent, { type: "record_skipped", sessionId, position, error });
}

import type { BaseMessage } from "@langchain/core/messages";
import { decodeHead } from "../../store/codec/stored-record.js";
import { copyOf, decodeRecord, messageOf, noTokens, parseOwnRecord, turnIn } from "../../store/codec/decode-record.js";
import type { DecodedRecord, ParsedRecord } from "../../store/codec/decode-record.js";
import { unknownKey } from "../../store/contract/refusals.js";
import { keptRecords, refuseKept } from "../../store/contract/session-reads.js";
import type { KeptRecord, KeptRecords, SessionView } from "../../store/contract/session-reads.js";
import { answeredId, findOrphanResults, fromCompaction } from "../../conversation/messages/content.js";
import { EncryptionError, MemoryError } from "../../base/errors.js";
import { report, type MemoryEventHandler } from "../../base/events.js";
import { rememberTokens } from "../../conversation/tokens/counted-messages.js";
import { encodeMessage, turnNameOf, messageIdOf } from "../../store/codec/encode-message.js";
import { withoutRefused } from "../../conversation/messages/change-message.js";
import { refusedMarkOf, roleOf, summaryMarkOf } from "../../conversation/messages/message.js";
import { splitRounds, type Round } from "../../conversation/messages/rounds.js";

/** A stored message with its record; `position` is its place in the log, undefined for one in the head. */
export interface StoredEntry {
  readonly message: BaseMessage;
  readonly record: string;
  readonly position: number | undefined;
}

/** A view as read from the store, and its messages for a model. */
export interface DecodedView {
  readonly stored: SessionView;
  /** The messages that a model sees. */
  readonly entries: readonly StoredEntry[];
  /** The same, with the questions that a provider refused and their marks: for these questions' own retries. */
  readonly all: readonly StoredEntry[];
}

/** Settings for decoding records. */
export interface DecodeOptions {
  readonly sessionId: string;
  readonly strict: boolean;
  readonly onEvent: MemoryEventHandler | undefined;
}

/**
 * Returns the messages of a view in the order of the conversation, each answer next to its question. Skips and reports
 * unreadable records, and tool results whose call is not in the view.
 */
export function viewMessages(stored: SessionView, options: DecodeOptions): BaseMessage[] {
  reportDamage(stored, options);
  const { records, start } = stored;
  const kept = stored.head === "" ? keptRecords.get(records) : undefined;
  if (kept?.isShownAsStored === true) {
    return decodeMessages(records, options, start);
  }
  const head = headRecords(stored.head, options);
  if (!isInTurnOrder(head.length === 0 ? records : [...head, ...records])) {
    return shownEntries(stored, head, options).entries.map(({ message }) => message);
  }
  const log = decodeMessages(records, options, start);
  const all = head.length === 0 ? log : [...decodeMessages(head, options), ...log];
  const messages = fromCompaction(withoutRefusedMessages(all), (message) => message) as BaseMessage[];
  const orphans = orphanResults(messages, options);
  if (orphans !== undefined) {
    return messages.filter((_, index) => !orphans.has(index));
  }
  if (kept !== undefined) {
    kept.isShownAsStored = messages.length === records.length;
  }
  return messages;
}

/** Returns the same messages, each with its record. */
export function decodeView(stored: SessionView, options: DecodeOptions): DecodedView {
  reportDamage(stored, options);
  const { entries, all } = shownEntries(stored, headRecords(stored.head, options), options);
  return { stored, entries, all };
}

function shownEntries(
  stored: SessionView,
  head: readonly string[],
  options: DecodeOptions,
): Pick<DecodedView, "entries" | "all"> {
  const inHead = decodeEntries(head, options);
  const inOrder = inTurnOrder([...inHead, ...decodeEntries(stored.records, options, stored.start)], inHead.length);
  const all = fromCompaction(inOrder, ({ message }) => message);
  const shown = withoutRefusedEntries(all);
  const orphans = orphanResults(
    shown.map(({ message }) => message),
    options,
  );
  const entries = orphans === undefined ? shown : shown.filter((_, index) => !orphans.has(index));
  return { entries, all: shown === all ? entries : all };
}

/** {@link withoutRefused} for entries. A result with a note is not as it is in the log, so it has no place there. */
export function withoutRefusedEntries(entries: readonly StoredEntry[]): readonly StoredEntry[] {
  if (!entries.some(({ message }) => isMark(message))) {
    return entries;
  }
  return withoutRefused(
    entries,
    ({ message }) => message,
    (_, message) => ({
      message,
      record: encodeMessage(message, { id: messageIdOf(message) }).record,
      position: undefined,
    }),
  );
}

/** Messages as models see them: without refused questions and their marks. */
export function withoutRefusedMessages(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  return messages.some(isMark)
    ? withoutRefused(
        messages,
        (message) => message,
        (_, note) => note,
      )
    : messages;
}

function isMark(message: BaseMessage): boolean {
  return refusedMarkOf(message) !== undefined;
}

/** Decodes consecutive records of the log from position `from` on; without `from`, those of a head. */
export function decodeMessages(records: readonly string[], options: DecodeOptions, from?: number): BaseMessage[] {
  const messages: BaseMessage[] = [];
  const kept = keptRecords.get(records);
  for (let index = 0; index < records.length; index += 1) {
    const position = from === undefined ? undefined : from + index;
    const message = decodeOrSkip({ record: records[index]!, kept: kept?.list[index], position }, options, kept);
    if (message !== undefined) {
      messages.push(message);
    }
  }
  return messages;
}

/** Returns the same messages, each with its record and position. */
export function decodeEntries(records: readonly string[], options: DecodeOptions, from?: number): StoredEntry[] {
  const entries: StoredEntry[] = [];
  const kept = keptRecords.get(records);
  for (let index = 0; index < records.length; index += 1) {
    const record = records[index]!;
    const position = from === undefined ? undefined : from + index;
    const message = decodeOrSkip({ record, kept: kept?.list[index], position }, options, kept);
    if (message !== undefined) {
      entries.push({ message, record, position });
    }
  }
  return entries;
}

/** A record to decode; `position` is undefined in a head, and `kept` if the store does not cache the record. */
interface Stored {
  readonly record: string;
  readonly kept: KeptRecord | undefined;
  readonly position: number | undefined;
}

function decodeOrSkip(stored: Stored, options: DecodeOptions, view: KeptRecords | undefined): BaseMessage | undefined {
  try {
    return decodeCounted(stored);
  } catch (error) {
    refuseKept(view);
    reportSkipped(error, { ...options, position: stored.position });
    return undefined;
  }
}

/** Indexes of tool results whose call is not in the view; undefined if there are none. */
function orphanResults(
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

function decodeCounted({ record, kept, position }: Stored): BaseMessage {
  const { message, tokens } = kept === undefined ? decodeRecord(record, position) : decodeKept(kept, record, position);
  if (tokens !== noTokens) {
    for (const counterId in tokens) {
      rememberTokens(message, counterId, tokens[counterId]!);
    }
  }
  return message;
}

/** Marker for a record that was read once. */
const readOnce = Symbol("read once");

/**
 * The message of a cached record, made from a copy of its parsed form. The first read of a session caches nothing, so
 * that it costs no more than without the cache.
 */
function decodeKept(kept: KeptRecord, record: string, position: number | undefined): DecodedRecord {
  if (kept.made === readOnce || (kept.made === undefined && kept.isReadOften)) {
    kept.made = parseOwnRecord(record);
  } else if (kept.made === undefined) {
    kept.made = readOnce;
    return decodeRecord(record, position);
  }
  return kept.made === undefined
    ? decodeRecord(record, position)
    : messageOf(copyOf(kept.made as ParsedRecord), position);
}

function headRecords(head: string, options: DecodeOptions): readonly string[] {
  if (head === "") {
    return [];
  }
  try {
    return decodeHead(head);
  } catch (error) {
    reportSkipped(error, { ...options, position: undefined });
    return [];
  }
}

/** Reports a skipped record, or throws the error if records must not be skipped. */
function reportSkipped(
  error: unknown,
  { strict, onEvent, sessionId, position }: DecodeOptions & { readonly position: number | undefined },
): void {
  if (EncryptionError.isInstance(error)) {
    throw unknownKey(sessionId, error.keyId);
  }
  if (strict || !MemoryError.isInstance(error)) {
    throw error;
  }
  report(onEvent, { type: "record_skipped", sessionId, position, error });
}

/** A message with its record. */
interface Entry {
  readonly message: BaseMessage;
  readonly record: string;
}

/** A question and its answers, in the order of the log. */
interface Group<E> {
  readonly entries: E[];
  /** True while a question that was stored without a turn has no answer. */
  isOpen: boolean;
}

/**
 * Messages of the log in the order of the conversation: each answer after its question, even if it was stored behind a
 * later turn because its run was retried or took longer. Questions keep their order.
 *
 * Messages of a turn move to the turn's first message. A turn without an explicit name is named by the id of its
 * question, so that an answer also finds a question that was stored separately. An answer whose question is not in the
 * list stays in place. Returns the same list if nothing moves. Linear.
 *
 * The first `inHead` entries are a view's head. They stay in place, and answers in the log move to their questions in
 * the head.
 */
export function inTurnOrder<E extends Entry>(entries: readonly E[], inHead = 0): readonly E[] {
  return isInTurnOrder(entries.map(({ record }) => record)) ? entries : grouped(entries, inHead).groups.flat();
}

/** Conservative check without decoding: true only for records whose order {@link inTurnOrder} keeps. */
function isInTurnOrder(records: readonly string[]): boolean {
  const seen = new Set<string>();
  let before: string | undefined;
  for (let index = 0; index < records.length; index += 1) {
    const name = turnIn(records[index]!);
    if (name !== undefined && name !== before) {
      if (seen.has(name) || (index > 0 && !isInputRecord(records[index]!))) {
        return false;
      }
      seen.add(name);
    }
    before = name;
  }
  return true;
}

/** The rounds of messages of the log, numbered from `firstIndex`, with each answer in the round of its question. */
export function roundsInTurnOrder(entries: readonly Entry[], firstIndex: number): Round[] {
  const questions = entries.filter(({ message }) => roleOf(message) === "human");
  const numbers = new Map(questions.map(({ message }, index) => [message, firstIndex + index]));
  const ordered = inTurnOrder(entries).map(({ message }) => message);
  return splitRounds(withoutRefusedMessages(ordered), { firstIndex }).map(({ index, messages }) => {
    return { index: numbers.get(messages[0]!) ?? index, messages };
  });
}

/**
 * Names of the turns whose question is not in the list: it stands before the list, has another name, or does not exist.
 */
export function turnsWithoutQuestion(entries: readonly Entry[]): ReadonlySet<string> {
  return grouped(entries).withoutQuestion;
}

interface Grouped<E> {
  /** Questions with their answers, in the order of the questions. */
  readonly groups: readonly (readonly E[])[];
  readonly withoutQuestion: ReadonlySet<string>;
}

function grouped<E extends Entry>(entries: readonly E[], inHead = 0): Grouped<E> {
  const groups: Group<E>[] = [];
  const withoutQuestion = new Set<string>();
  const byName = new Map<string, Group<E>>();
  let current: Group<E> | undefined;
  for (const [index, entry] of entries.entries()) {
    const { message, record } = entry;
    const name = turnIn(record);
    const last = groups.at(-1);
    const isHead = index < inHead;
    let group = name === undefined || isHead ? undefined : byName.get(name);
    if (group === undefined && !isHead && !isInput(message)) {
      if (name !== undefined) {
        withoutQuestion.add(name);
      }
      // An open question may have been stored before its turn got another name than its id.
      const isFree = name === undefined ? current === last : current?.isOpen === true;
      group = isFree ? current : undefined;
    }
    if (group === undefined) {
      group = { entries: [], isOpen: false };
      groups.push(group);
    }
    group.entries.push(entry);
    current = group;
    if (isHead && isInFront(message)) {
      continue;
    }
    group.isOpen = name === undefined && roleOf(message) === "human";
    const turnName = name ?? (group.isOpen && message.id !== undefined ? turnNameOf(message.id) : undefined);
    if (turnName !== undefined) {
      byName.set(turnName, group);
    }
  }
  return { groups: groups.map(({ entries: own }) => own), withoutQuestion };
}

/** True for records that a reduction puts into the head, to which no later answer belongs. */
function isInFront(message: BaseMessage): boolean {
  return roleOf(message) === "system" || summaryMarkOf(message) !== undefined;
}

/** True for a record that can begin a turn. */
function isInput(message: BaseMessage): boolean {
  const role = roleOf(message);
  return role === "human" || role === "system";
}

function isInputRecord(record: string): boolean {
  return record.startsWith('{"type":"human"') || record.startsWith('{"type":"system"');
}

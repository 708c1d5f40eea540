import type { DataPart } from "./keys.js";
import { ConflictError, RecordError, StoreError } from "../../base/errors.js";
import { sessionLabel } from "../contract/refusals.js";

/** A record as it is stored: what scripts read of it in plain, and its text. */
export interface StoredRecord {
  /** Positions with a `+` count from it. */
  readonly base: number;
  /** The positions of the items that it names. */
  readonly ranges: string;
  /** Empty for none. */
  readonly parent: string;
  readonly text: string;
}

/** The plain fields of a record besides its positions. */
export interface RecordHeader {
  readonly ranges: string;
  /** How many ancestors hold values that the checkpoint needs. @default none */
  readonly needs?: number;
  /** The id of the parent. @default none */
  readonly parent?: string | undefined;
}

/** A record without its base, which the script writes in front. */
export function recordTail({ ranges, needs = 0, parent = "" }: RecordHeader, text: string): string {
  return `${ranges}|${needs === 0 ? "" : needs}|${parent}\0${text}`;
}

/** The prefix of a record's text; empty for a text that is no record. */
export function recordHead(stored: string): string {
  return /^\d+\|[^|]*\|\d*\|[^\0]*\0/.exec(stored)?.[0] ?? "";
}

/** The parts of a record; undefined for any other text. */
export function parseRecord(stored: string): StoredRecord | undefined {
  const [head, base, ranges, parent] = /^(\d+)\|([^|]*)\|\d*\|([^\0]*)\0/.exec(stored) ?? [];
  return head === undefined
    ? undefined
    : { base: Number(base), ranges: ranges!, parent: parent!, text: stored.slice(head.length) };
}

/** The records of the writes of a checkpoint. */
export function writeRecords(stored: string): string[] {
  return stored === "" ? [] : stored.split("\n");
}

/**
 * The kind of a thread's text: an item, or the record of a checkpoint or of writes of the named one; empty in long-term
 * memory and in runs.
 */
export type TextKind = "item" | "checkpoint" | "writes" | "";

/** True for a sealed text of a thread, an item or a run: JSON never begins like it. */
export function isSealedText(text: string): boolean {
  return text.startsWith("~");
}

/** Plain texts of a part of some data, and what they become. */
export interface PlainTexts {
  readonly part: DataPart;
  /** By the name of the field, or the position in the list. */
  readonly texts: readonly (readonly [name: string, stored: string, sealed: string])[];
}

/** Seals a text for its place, or opens it. */
export type TextAtPlace = (text: string, kind: TextKind, name: string) => string;

/** A new text for one that is stored; undefined where it stays. */
type TextChange = (text: string, kind: "checkpoint" | "writes", member: string) => Promise<string | undefined>;

/**
 * The value of a field of a thread with the texts of its records changed; undefined where all stay, and for a field
 * that holds what is known of the thread itself.
 */
export async function changedField(name: string, value: string, change: TextChange): Promise<string | undefined> {
  const kind = name.includes("\0") ? ({ c: "checkpoint", w: "writes" } as const)[name[0] as "c" | "w"] : undefined;
  if (kind === undefined) {
    return undefined;
  }
  const records = kind === "checkpoint" ? [value] : writeRecords(value);
  const changed = await Promise.all(
    records.map(async (record) => {
      const head = recordHead(record);
      const text = await change(record.slice(head.length), kind, name.slice(1));
      return text === undefined ? record : head + text;
    }),
  );
  return changed.some((record, index) => record !== records[index]) ? changed.join("\n") : undefined;
}

/** True for an item that holds a text: others are empty, or hold positions, which scripts read. */
export function isTextItem(item: string): boolean {
  return item !== "" && !/^[\d-]+,[\d,-]+$/.test(item);
}

/** Namespace and id of a checkpoint, as its member and its fields are called. */
export function memberOf(ns: string, id: string): string {
  return `${ns}\0${id}`;
}

/** Namespace and id of a member. */
export function placeOf(member: string): { readonly ns: string; readonly id: string } {
  const end = member.indexOf("\0");
  return { ns: member.slice(0, end), id: member.slice(end + 1) };
}

/** Names a thread in an error, as sessions are named. */
export function threadLabel(threadId: string): string {
  return sessionLabel(threadId).replace("session", "thread");
}

/** The error for a thread of which a key or an item is missing. */
export function damagedThread(operation: string, threadId: string): StoreError {
  return new StoreError(
    `A part of ${threadLabel(threadId)} is missing in Redis (evicted or deleted); nothing was read or written. ` +
      "Remove the rest with deleteThread().",
    { code: "damaged", operation, sessionId: threadId },
  );
}

/** The error for a checkpoint that names items which Redis does not have. */
export function damagedCheckpoint(threadId: string, id: string): StoreError {
  return new StoreError(
    `A part of checkpoint ${checkpointLabel(id)} of ${threadLabel(threadId)} is missing in Redis (evicted, deleted ` +
      "or changed by hand); nothing was read. list() yields the checkpoints that can be read: go on from one of " +
      "them, or remove the thread with deleteThread().",
    { code: "damaged", operation: "read", sessionId: threadId },
  );
}

/** The error for a checkpoint that a config names and that is not stored any more. */
export function unknownCheckpoint(threadId: string, id: string): ConflictError {
  return new ConflictError(
    `Checkpoint ${checkpointLabel(id)} of ${threadLabel(threadId)} is not stored any more: "keep" or prune() ` +
      "dropped it, or the thread has expired; nothing was read or written. Leave out checkpoint_id, and read " +
      "getState(thread).tasks first: it shows what waits for an answer.",
    { code: "unknown_checkpoint", sessionId: threadId },
  );
}

/** The error for something of a checkpoint that exceeds `maxItemBytes`. */
export function tooLargeItem(operation: string, threadId: string, bytes: number, limit: number): StoreError {
  return new StoreError(
    `A value of ${bytes} bytes for ${threadLabel(threadId)} exceeds maxItemBytes (${limit}); nothing was written.`,
    { code: "too_large", operation, sessionId: threadId },
  );
}

/** The error for a checkpoint whose record cannot be read. */
export function corruptCheckpoint(threadId: string, id: string, cause?: unknown): RecordError {
  return new RecordError(`Checkpoint ${checkpointLabel(id)} of ${threadLabel(threadId)} cannot be read.`, {
    code: "corrupt",
    ...(cause !== undefined && { cause }),
  });
}

function checkpointLabel(id: string): string {
  return encodeURIComponent(id.toWellFormed()).slice(0, 80);
}

/** Names and values from an alternating list, as HGETALL replies. */
export function pairsIn(list: readonly string[]): (readonly [name: string, value: string])[] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index]!, list[2 * index + 1]!]);
}

import type { BaseMessage } from "@langchain/core/messages";
import { EncryptionError } from "../../base/errors.js";
import { mayCall } from "../../conversation/messages/calls.js";
import { refusedMarkOf, roleOf } from "../../conversation/messages/roles.js";
import type { Fields } from "../../conversation/messages/values.js";
import { shortHash, timeOrderedIds } from "../../base/ids.js";
import { decodeRecord, metaOf } from "./decode-record.js";
import { digestMessage } from "./encode-message.js";

/** Position of a message in its turn. */
export interface TurnPlace {
  /** The turn's id, the same for each retry. */
  readonly turnId?: string;
  readonly index: number;
}

/** The message's own id; undefined if it has none. */
export function ownIdOf({ id }: BaseMessage): string | undefined {
  return typeof id === "string" && id !== "" ? id : undefined;
}

/**
 * Assigns ids to messages without one; does not modify the messages.
 *
 * Ids are kept per message object (weakly), so a retry with the same objects is idempotent.
 */
export class MessageIds {
  readonly #ids = new WeakMap<BaseMessage, string>();
  readonly #createId = timeOrderedIds();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The message's own id; else `<turnId>-<index>` if there is a turn id; else a unique id, stable per object. */
  idOf(message: BaseMessage, place?: TurnPlace): string {
    const own = ownIdOf(message);
    if (own !== undefined) {
      return own;
    }
    if (place?.turnId !== undefined) {
      return `${place.turnId}-${place.index}`;
    }
    let id = this.#ids.get(message);
    if (id === undefined) {
      id = this.#createId(this.#now());
      this.#ids.set(message, id);
    }
    return id;
  }
}

const processIds = new MessageIds();

/** {@link MessageIds.idOf} of the process-wide instance. */
export function messageIdOf(message: BaseMessage, place?: TurnPlace): string {
  return processIds.idOf(message, place);
}

/** Identity of a stored record: id, digest and turn. */
export interface StoredIdentity {
  readonly id: string;
  readonly digest: string;
  /** The record's turn; `ends` is true for a message that can end a turn. */
  readonly turn?: { readonly name: string; readonly ends: boolean };
}

/** True for a complete AI answer: it calls no tool, was not interrupted, and marks no refused request. */
export function isAnswer(message: BaseMessage): boolean {
  return (
    roleOf(message) === "ai" && !mayCall(message) && !isInterrupted(message) && refusedMarkOf(message) === undefined
  );
}

/** True for the partial answer of a stopped run. */
export function isInterrupted(message: BaseMessage): boolean {
  return (message.response_metadata as Fields | undefined)?.["interrupted"] === true;
}

/**
 * The id, digest and turn of a stored record, as `encodeMessage` gave them; undefined for an unreadable one. A foreign
 * record without an id gets `record:<14 characters of its SHA-256 in base64url>`, which is deterministic.
 *
 * @throws EncryptionError for an encrypted record.
 */
export function identifyRecord(record: string): StoredIdentity | undefined {
  try {
    const { id, message } = decodeRecord(record);
    const { turn: name } = metaOf(record);
    const identity = { id: id ?? `record:${shortHash(record, 14)}`, digest: digestMessage(message) };
    return name === undefined ? identity : { turn: { name, ends: isAnswer(message) }, ...identity };
  } catch (error) {
    if (EncryptionError.isInstance(error)) {
      throw error;
    }
    return undefined;
  }
}

/** The `lastId` of `ReadState`: id of the last record, if it has one. */
export function lastIdOf(records: readonly string[]): { readonly lastId?: string } {
  const last = records.at(-1);
  const id = last === undefined ? undefined : identifyRecord(last)?.id;
  return id === undefined ? {} : { lastId: id };
}

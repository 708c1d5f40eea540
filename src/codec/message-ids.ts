import type { BaseMessage } from "@langchain/core/messages";
import { EncryptionError } from "../base/errors.js";
import { mayCall } from "../messages/calls.js";
import { roleOf } from "../messages/roles.js";
import type { Fields } from "../messages/values.js";
import { shortHash, timeOrderedIds } from "../base/ids.js";
import { decodeRecord } from "./decode-record.js";
import { digestMessage } from "./encode-message.js";
import { metaOf } from "./record-meta.js";

/** The place of a message in a turn that has an id. */
export interface TurnPlace {
  /** The turn's id; a retried job uses the same one. */
  readonly turnId?: string;
  /** The message's index in the turn. */
  readonly index: number;
}

/** The id that a message has by itself; undefined if it has none. */
export function ownIdOf({ id }: BaseMessage): string | undefined {
  return typeof id === "string" && id !== "" ? id : undefined;
}

/**
 * Gives ids to messages that have none; the messages are not changed.
 *
 * An id is remembered for as long as the message object lives, so a retry with the same objects has the same ids.
 */
export class MessageIds {
  readonly #given = new WeakMap<BaseMessage, string>();
  readonly #createId = timeOrderedIds();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /**
   * The message's own id; else `<turnId>-<index>` if there is a turn id; else a unique id, the same at every call.
   */
  idOf(message: BaseMessage, place?: TurnPlace): string {
    const own = ownIdOf(message);
    if (own !== undefined) {
      return own;
    }
    if (place?.turnId !== undefined) {
      return `${place.turnId}-${place.index}`;
    }
    let id = this.#given.get(message);
    if (id === undefined) {
      id = this.#createId(this.#now());
      this.#given.set(message, id);
    }
    return id;
  }
}

const processIds = new MessageIds();

/** The id of a message, as {@link MessageIds.idOf} gives it, remembered for the whole process. */
export function messageIdOf(message: BaseMessage, place?: TurnPlace): string {
  return processIds.idOf(message, place);
}

/** What a stored record says of its message and turn. */
export interface StoredIdentity {
  readonly id: string;
  readonly digest: string;
  /** The turn that it was stored for; `ends` is true for a message with which a turn can end. */
  readonly turn?: { readonly name: string; readonly ends: boolean };
}

/** True for a whole answer of the model: it calls no tool, and was not interrupted. */
export function isAnswer(message: BaseMessage): boolean {
  return roleOf(message) === "ai" && !mayCall(message) && !isInterrupted(message);
}

/** True for the part of an answer that was there when its run was stopped. */
export function isInterrupted(message: BaseMessage): boolean {
  return (message.response_metadata as Fields | undefined)?.["interrupted"] === true;
}

/**
 * The id, digest and turn of a stored record, as `encodeMessage` gave them; undefined if it cannot be read. A record of
 * another maker without an id gets `record:<14 characters of its SHA-256 in base64url>`, so the same text always gets
 * the same id.
 *
 * @throws EncryptionError for an encrypted record.
 */
export function identifyRecord(record: string): StoredIdentity | undefined {
  try {
    const { id, message } = decodeRecord(record);
    const { turn: name } = metaOf(record);
    const identity = { id: id ?? `record:${shortHash(record, 14)}`, digest: digestMessage(message) };
    return name === undefined ? identity : { ...identity, turn: { name, ends: isAnswer(message) } };
  } catch (error) {
    if (EncryptionError.isInstance(error)) {
      throw error;
    }
    return undefined;
  }
}

/** What a write says of the last record that was read, see `ReadState`. */
export function lastIdOf(records: readonly string[]): { readonly lastId?: string } {
  const last = records.at(-1);
  const id = last === undefined ? undefined : identifyRecord(last)?.id;
  return id === undefined ? {} : { lastId: id };
}

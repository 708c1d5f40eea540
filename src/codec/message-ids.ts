import type { BaseMessage } from "@langchain/core/messages";
import { shortHash } from "../short-hash.js";
import { timeOrderedIds } from "../time-ordered-id.js";
import { decodeRecord } from "./decode-record.js";
import { digestMessage } from "./encode-message.js";

/** Where a message stands in a turn that has an id. */
export interface TurnPlace {
  /** The turn's id, which a retried job brings again. */
  readonly turnId?: string;
  /** The message's index in the turn. */
  readonly index: number;
}

/**
 * Gives ids to messages that have none, without touching them.
 *
 * An id is remembered for as long as the message object lives, so a retry with the same objects brings the same ids.
 */
export class MessageIds {
  readonly #given = new WeakMap<BaseMessage, string>();
  readonly #createId = timeOrderedIds();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /**
   * The message's own id; else `<turnId>-<index>` where there is a turn id; else a unique id, the same at every call.
   */
  idOf(message: BaseMessage, place?: TurnPlace): string {
    if (typeof message.id === "string" && message.id !== "") {
      return message.id;
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

/**
 * The id and digest of a stored record, as `encodeMessage` gave them; undefined where it cannot be read. A record of
 * another maker without an id gets `record:<14 characters of its SHA-256 in base64url>`, so the same text always gets
 * the same id.
 */
export function identifyRecord(record: string): { readonly id: string; readonly digest: string } | undefined {
  try {
    const { id, message } = decodeRecord(record);
    return { id: id ?? `record:${shortHash(record, 14)}`, digest: digestMessage(message) };
  } catch {
    return undefined;
  }
}

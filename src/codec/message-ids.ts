import { randomUUID } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";

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
  private readonly given = new WeakMap<BaseMessage, string>();
  private readonly createId: () => string;

  constructor(now: () => number = Date.now) {
    this.createId = timeOrderedIds(now);
  }

  /** The message's own id; else `<turnId>-<index>` where there is a turn id; else a unique id, the same at every call. */
  idOf(message: BaseMessage, place?: TurnPlace): string {
    if (typeof message.id === "string" && message.id !== "") {
      return message.id;
    }
    if (place?.turnId !== undefined) {
      return `${place.turnId}-${place.index}`;
    }
    let id = this.given.get(message);
    if (id === undefined) {
      id = this.createId();
      this.given.set(message, id);
    }
    return id;
  }
}

const processIds = new MessageIds();

/** The id of a message, as {@link MessageIds.idOf} gives it, remembered for the whole process. */
export function messageIdOf(message: BaseMessage, place?: TurnPlace): string {
  return processIds.idOf(message, place);
}

/** Ids of UUID version 7 (RFC 9562): milliseconds, then a counter, then random bits. Each is greater than the one before. */
function timeOrderedIds(now: () => number): () => string {
  let milliseconds = 0;
  let counter = 0;
  return () => {
    const time = now();
    if (time > milliseconds) {
      milliseconds = time;
      counter = 0;
    } else if (++counter > 0xfff) {
      milliseconds += 1;
      counter = 0;
    }
    const prefix = milliseconds.toString(16).padStart(12, "0");
    return `${prefix.slice(0, 8)}-${prefix.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${randomUUID().slice(19)}`;
  };
}

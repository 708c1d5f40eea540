import type { BaseMessage } from "@langchain/core/messages";
import { EncryptionError } from "../../base/errors.js";
import { mayCall } from "../../conversation/messages/calls.js";
import { refusedMarkOf, roleOf } from "../../conversation/messages/roles.js";
import type { Fields } from "../../conversation/messages/values.js";
import { shortHash, timeOrderedIds } from "../../base/ids.js";
import type { IdentifiedRecord } from "../contract/session-writes.js";
import { decodeRecord, metaOf } from "./decode-record.js";
import { digestMessage } from "./encode-message.js";

/** The message's own id; undefined if it has none. */
export function ownIdOf({ id }: BaseMessage): string | undefined {
  return typeof id === "string" && id !== "" ? id : undefined;
}

/** Ids of messages without one, kept per object (weakly): a retry with the same objects is idempotent. */
const given = new WeakMap<BaseMessage, string>();
const createId = timeOrderedIds();

/**
 * The message's own id; else `<turnId>-<index>` if there is a turn id, the same for each retry; else a unique id,
 * stable per object. Does not modify the message.
 */
export function messageIdOf(
  message: BaseMessage,
  place?: { readonly turnId?: string; readonly index: number },
): string {
  const own = ownIdOf(message);
  if (own !== undefined || place?.turnId !== undefined) {
    return own ?? `${place!.turnId}-${place!.index}`;
  }
  let id = given.get(message);
  if (id === undefined) {
    id = createId(Date.now());
    given.set(message, id);
  }
  return id;
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
export function identifyRecord(record: string): IdentifiedRecord | undefined {
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

import type { BaseMessage } from "@langchain/core/messages";
import { fieldsOf, without } from "./values.js";

/** The fields of a message to replace. */
export type MessageChanges = Readonly<Record<string, unknown>>;

/** Changes of what only one field of a message holds. */
export interface OwnChanges {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** Tool messages only: the id of the answered call. */
  readonly tool_call_id?: string;
}

/** A copy of the message, of the same class, with another id or name. `editMessage` changes what it says. */
export function changeMessage<M extends BaseMessage>(message: M, changes: OwnChanges): M {
  return copyWith(message, { ...changes });
}

/** A copy of the message, of the same class, with changed fields: for this room only, which keeps all copies equal. */
export function copyWith<M extends BaseMessage>(message: M, changes: MessageChanges): M {
  const all =
    "content" in changes && !Array.isArray(changes["content"])
      ? { ...changes, ...withoutOutputVersion(message, changes) }
      : changes;
  // A message that was made of another one carries the other's arguments too.
  const stale = "content" in changes ? ["lc_kwargs", "contentBlocks", "content_blocks"] : ["lc_kwargs"];
  const kwargs = without(fieldsOf(message.lc_kwargs), ...stale);
  const copy = Object.create(Object.getPrototypeOf(message) as object) as M;
  return Object.assign(copy, message, all, { lc_kwargs: { ...kwargs, ...all } });
}

/**
 * A copy of an answer in the form that an adapter reads, which may tell less than the answer does: for what goes to a
 * model, never for what is stored.
 */
export function inForm<M extends BaseMessage>(message: M, changes: MessageChanges): M {
  return copyWith(message, changes);
}

/** `output_version` requires a list of blocks, so it must not accompany plain text. */
function withoutOutputVersion(message: BaseMessage, changes: MessageChanges): MessageChanges {
  const metadata = (changes["response_metadata"] ?? message.response_metadata) as Record<string, unknown>;
  return "output_version" in metadata ? { response_metadata: without(metadata, "output_version") } : {};
}

/** A copy with one key of `response_metadata` set. */
export function setMetadata<M extends BaseMessage>(message: M, key: string, value: unknown): M {
  return copyWith(message, { response_metadata: { ...message.response_metadata, [key]: value } });
}

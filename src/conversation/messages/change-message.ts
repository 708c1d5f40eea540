import { type BaseMessage, AIMessage, type ToolMessage } from "@langchain/core/messages";
import { fieldsOf, without, refusedKey, type RefusedMark, refusedMarkOf, roleOf } from "./message.js";

/** The fields of a message to replace. */
type MessageChanges = Readonly<Record<string, unknown>>;

/** Changes of what only one field of a message holds. */
interface OwnChanges {
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

// A request that a provider refused for good: the mark behind its question, and what models see of both.

/** The message that marks a refused request: an answer without text, stored in the turn of its question. */
export function refusedMark(mark: RefusedMark): AIMessage {
  return new AIMessage({ content: "", response_metadata: { [refusedKey]: mark } });
}

const refusedResult = "(The model's provider refused to read this result.)";

/**
 * A conversation in its order as models see it: without marks, and without the questions that they name; tool results
 * that they name keep their place, with a note. A mark with an answer directly behind it names nothing of its turn,
 * because a retry succeeded. Returns the same list where there is no mark. Linear.
 */
export function withoutRefused<T>(
  list: readonly T[],
  messageOf: (element: T) => BaseMessage,
  noted: (element: T, note: ToolMessage) => T,
): readonly T[] {
  const marks = list.map((element) => refusedMarkOf(messageOf(element)));
  if (!marks.some((mark) => mark !== undefined)) {
    return list;
  }
  const isAnswered = (index: number) => {
    const next = list.slice(index + 1, index + 2).map((element) => roleOf(messageOf(element)));
    return marks[index + 1] === undefined && (next[0] === "ai" || next[0] === "tool");
  };
  const idsIn = (mark: RefusedMark, index: number) => [...(mark.before ?? []), ...(isAnswered(index) ? [] : mark.ids)];
  const hidden = new Set(marks.flatMap((mark, index) => (mark === undefined ? [] : idsIn(mark, index))));
  return list.flatMap((element, index) => {
    const message = messageOf(element);
    if (marks[index] !== undefined || (hidden.has(message.id ?? "") && roleOf(message) === "human")) {
      return [];
    }
    return hidden.has(message.id ?? "") && roleOf(message) === "tool"
      ? [noted(element, copyWith(message as ToolMessage, { content: refusedResult }))]
      : [element];
  });
}

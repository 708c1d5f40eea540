import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { jsonText } from "../../../base/json-text.js";
import { callsOf, contentOf, contentText, blocksOf, isStandardContent, blockText, isTextBlock } from "../content.js";
import type { Call, Block } from "../content.js";
import { copyWith } from "../change-message.js";
import { speakerOf, summaryKey, type Fields, fieldsOf, isRecord, recordsIn, without } from "../message.js";
import { withFields, plainAnswer, signaturesKey, spokenText } from "./plain-answer.js";
import type { CallChange, PlainChanges } from "./plain-answer.js";
import { signatureKey, thoughtsIn } from "./thoughts.js";

/**
 * Changes of a message. Each function gets what the message says and returns what it says instead.
 * @example
 * import { AIMessage } from "@langchain/core/messages";
 * import { editMessage, type Call, type CallChange, type MessageEdit } from "langchain-redis-memory/structure";
 *
 * const withoutDrafts = (call: Call): CallChange => (call.name === "draft" ? "remove" : undefined);
 * const edit: MessageEdit = { calls: withoutDrafts, thoughts: "remove" };
 * const answer = editMessage(new AIMessage("Done."), edit);
 */
export interface MessageEdit {
  /** The change of each call; gets its place among the calls too, those with unreadable arguments last. */
  readonly calls?: (call: Call, place: number) => CallChange;
  /**
   * The new text. Gets the whole text of the message; where that stands in several blocks, each block keeps its part
   * if it changes by itself to the same effect. A message without text stays as it is.
   */
  readonly text?: (text: string) => string;
  /**
   * `remove` leaves out all thoughts, and signatures of calls. A function gets the text of each thought: where it
   * returns another one, the answer loses all its thoughts.
   */
  readonly thoughts?: "remove" | ((text: string) => string);
}

/**
 * A copy of the message with its calls, its text and its thoughts changed. An answer that changes becomes plain: its
 * text, its calls and its media, and its other fields. Thoughts, signatures, steps of the provider's own tools, ids of
 * items and raw copies of the answer are left out, because a provider takes them back as it gave them or not at all.
 * Does not mutate the message; returns the same object if nothing changes.
 *
 * @example
 * import { AIMessage } from "@langchain/core/messages";
 * import { editMessage } from "langchain-redis-memory/structure";
 *
 * const answer = new AIMessage({ content: "I look.", tool_calls: [{ id: "c1", name: "search", args: {} }] });
 * const renamed = editMessage(answer, { calls: ({ id }) => (id === "c1" ? { id: "call-0001" } : undefined) });
 */
export function editMessage<M extends BaseMessage>(message: M, edit: MessageEdit): M {
  const original = messageContent(message);
  const content = editContent(original, edit);
  if (speakerOf(message) !== "assistant") {
    return content === original ? message : copyWith(message, { content });
  }
  const changes: PlainChanges = { ...(content !== original && { content }), ...changedCalls(message, edit) };
  return Object.keys(changes).length === 0 && !changesThoughts(message, edit) ? message : plainAnswer(message, changes);
}

/** The content; that of an answer without text is the words with which it refuses. */
function messageContent(message: BaseMessage): unknown {
  const { content } = message as { readonly content: unknown };
  return content === "" && speakerOf(message) === "assistant" ? spokenText(message) : content;
}

function editContent(content: unknown, { text: change }: MessageEdit): unknown {
  if (change === undefined || (typeof content !== "string" && !Array.isArray(content))) {
    return content;
  }
  const parts = typeof content === "string" ? [content] : (content as readonly unknown[]);
  const edited = changeTexts(parts, change);
  return edited === parts ? content : typeof content === "string" ? (edited[0] ?? "") : contentOf(edited as Block[]);
}

/** The lists of calls, if a call changes. A call is in the list of its arguments: those that can be read, or not. */
function changedCalls(message: BaseMessage, { calls: change }: MessageEdit): PlainChanges {
  const { tool_calls: valid, invalid_tool_calls: invalid } = message as unknown as AIMessage;
  const calls = change === undefined ? [] : callsOf(message);
  const changes = calls.map((call, place) => realChange(call, change!(call, place)));
  if (changes.every((made) => made === undefined)) {
    return {};
  }
  const allCalls = [...recordsIn(valid), ...recordsIn(invalid)] as unknown as readonly Fields[];
  const made = allCalls.flatMap((call, place) => {
    const { [place]: own } = changes;
    return own === "remove" ? [] : [{ ...bareCall(call), ...own }];
  });
  const isReadable = ({ args }: Fields) => isRecord(args);
  const unread = (call: Fields) => withFields(call, { error: "The arguments are not valid JSON." });
  return {
    tool_calls: made.filter(isReadable).map((call) => ({ ...call, type: "tool_call" })),
    invalid_tool_calls: made
      .filter((call) => !isReadable(call))
      .map((call) => unread({ ...call, type: "invalid_tool_call" })),
  };
}

function bareCall({ id, name, args }: Fields): Fields {
  return { ...(id !== undefined && { id }), name, args };
}

function realChange(call: Call, change: CallChange): CallChange {
  if (typeof change !== "object") {
    return change;
  }
  const { id, name, args } = change;
  const real = {
    ...(id !== undefined && id !== call.id && { id }),
    ...(name !== undefined && name !== call.name && { name }),
    ...(args !== undefined && !isSame(args, call) && { args }),
  };
  return Object.keys(real).length === 0 ? undefined : real;
}

function isSame(args: unknown, call: Call): boolean {
  return isRecord(args) === call.readable && (args === call.args || jsonText(args) === jsonText(call.args));
}

function changesThoughts(message: BaseMessage, { thoughts: edit }: MessageEdit): boolean {
  const thoughts = edit === undefined ? [] : thoughtsIn(message);
  if (edit !== "remove") {
    // A pattern may span the pieces in which a stream left a thought.
    const whole = thoughts.map(({ text }) => text).join("");
    return (
      edit !== undefined &&
      whole !== "" &&
      [whole, ...thoughts.map(({ text }) => text)].some((text) => edit(text) !== text)
    );
  }
  const isSigned = recordsIn((message as unknown as AIMessage).tool_calls).some((call) => signatureKey in call);
  return thoughts.length > 0 || isSigned || fieldsOf(message.additional_kwargs)[signaturesKey] !== undefined;
}

/** A copy of the message with other content. An answer that says something else becomes plain. */
export function changeContent<M extends BaseMessage>(message: M, content: string | readonly object[]): M {
  const isSame = contentText(message.content) === contentText(content as MessageContent);
  return isSame || speakerOf(message) !== "assistant"
    ? copyWith(message, { content })
    : plainAnswer(message, { content });
}

/** A copy of an answer that says this text and nothing else: no call, no thought, no raw copy. */
export function textAnswer<M extends BaseMessage>(message: M, content: string): M {
  return plainAnswer(message, { content, tool_calls: [], invalid_tool_calls: [] });
}

/**
 * Merges messages of one speaker in their order, texts separated by a blank line. Other fields are those of the first
 * message, or, of AI messages, of the last, whose calls the next messages answer; these become plain. Linear.
 */
export function mergeMessages(messages: readonly BaseMessage[]): BaseMessage {
  const isModel = speakerOf(messages[0]!) === "assistant";
  const parts = isModel ? messages.map((message) => plainAnswer(message)) : messages;
  const base = parts.at(isModel ? -1 : 0)!;
  const sameName = parts.every(({ name }) => name === base.name);
  return copyWith(base, {
    content: mergeContent(parts),
    additional_kwargs: without(fieldsOf(base.additional_kwargs), summaryKey),
    ...(parts.some(isStandardContent)
      ? { response_metadata: { ...base.response_metadata, output_version: "v1" } }
      : {}),
    ...(sameName ? {} : { name: undefined }),
    ...(isModel ? mergeCalls(parts as AIMessage[]) : {}),
  });
}

function mergeContent(messages: readonly BaseMessage[]): unknown {
  if (messages.every(({ content }) => typeof content === "string")) {
    return messages.flatMap(({ content }) => (content === "" ? [] : [content])).join("\n\n");
  }
  return messages.flatMap((message) => [...blocksOf(message)]);
}

function mergeCalls(messages: readonly AIMessage[]): Record<string, unknown> {
  return {
    tool_calls: messages.flatMap(({ tool_calls: calls }) => recordsIn(calls)),
    invalid_tool_calls: messages.flatMap(({ invalid_tool_calls: calls }) => recordsIn(calls)),
  };
}

/** True for an element that holds text of the message, and no thought. */
function isText(element: unknown): boolean {
  const isOwn = (block: Block) => isTextBlock(block) && block["thought"] !== true && typeof block["text"] === "string";
  return typeof element === "string" || (isRecord(element) && isOwn(element as Block));
}

/**
 * A list with the texts of its blocks changed by a function that sees the whole text, because a pattern may span
 * blocks; the same list if they stay. Texts keep their places if each changes by itself to the same effect; else the
 * first one is the new text. One of which nothing is left goes.
 */
function changeTexts(list: readonly unknown[], change: (text: string) => string): readonly unknown[] {
  const whole = list.map(blockText).join("");
  const changed = whole === "" ? "" : change(whole);
  if (changed === whole) {
    return list;
  }
  const each = list.map((element) => blockText(element) && change(blockText(element)));
  const isEach = each.join("") === changed;
  const first = list.findIndex(isText);
  return list.flatMap((element, place) => {
    const text = isEach ? each[place]! : place === first ? changed : "";
    const isGone = text === "" && blockText(element) !== "";
    const made = () => (typeof element === "string" ? text : withFields(element as Fields, { text }));
    return !isText(element) ? [element] : isGone ? [] : [made()];
  });
}

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { jsonText } from "../../../base/json-text.js";
import { type Call, callsOf } from "../calls.js";
import { copyWith } from "../change-message.js";
import { type Block, contentOf } from "../content.js";
import { speakerOf } from "../roles.js";
import { type Fields, fieldsOf, isRecord, recordsIn } from "../values.js";
import { type CallChange, withFields } from "./edits.js";
import { plainAnswer, type PlainChanges, signaturesKey, spokenText } from "./plain-answer.js";
import { changeTexts } from "./texts.js";
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

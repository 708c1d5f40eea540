import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { jsonText } from "../../base/json-text.js";
import { type Call, callsOf } from "../calls.js";
import { copyWith } from "../change-message.js";
import { type Block, contentOf, contentText } from "../content.js";
import { speakerOf } from "../roles.js";
import { type Fields, isRecord } from "../values.js";
import { answerFields, editRaw } from "./answer-fields.js";
import { editCallBlocks } from "./call-copies.js";
import {
  type CallChange,
  type ChangedCalls,
  type Edits,
  type PiecesEdit,
  sameElements,
  type ThoughtEdit,
} from "./edits.js";
import { editText, editTexts, piecesBy } from "./texts.js";
import { editThoughts } from "./thoughts.js";

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
   * The new text of each thought, an empty one to leave it out; `remove` leaves out all, with the signatures of calls.
   * A signed thought whose text changes is left out.
   */
  readonly thoughts?: "remove" | ((text: string) => string);
}

/** Changes of a message in the form in which this package makes them. */
export interface InnerEdit {
  /** The change of each call, or changes for their copies, also where the calls themselves stay. */
  readonly calls?: MessageEdit["calls"] | ChangedCalls;
  readonly pieces?: PiecesEdit;
  readonly thoughts?: ThoughtEdit;
  readonly dropsSignatures?: boolean;
  /** Last, for the blocks of content only: their order, or blocks that no other copy repeats. */
  readonly blocks?: (blocks: readonly Block[]) => readonly Block[];
}

/**
 * A copy of the message with its calls, its text and its thoughts changed in every copy that the message carries:
 * content blocks, `tool_calls`, `invalid_tool_calls` and chunks, the raw calls, reasoning, ids and signatures in
 * `additional_kwargs`, and `response_metadata.output`. Everything else stays as it is.
 *
 * The signature of a removed call goes to the next one (Gemini signs the first of a step). OpenAI takes a reasoning
 * item and the items after it only together: if one is removed, the ids of the others are removed too. Does not mutate
 * the message; returns the same object if nothing changes.
 *
 * @example
 * import { AIMessage } from "@langchain/core/messages";
 * import { editMessage } from "langchain-redis-memory/structure";
 *
 * const answer = new AIMessage({ content: "I look.", tool_calls: [{ id: "c1", name: "search", args: {} }] });
 * const renamed = editMessage(answer, { calls: ({ id }) => (id === "c1" ? { id: "call-0001" } : undefined) });
 */
export function editMessage<M extends BaseMessage>(message: M, { calls, text, thoughts }: MessageEdit): M {
  return editAll(message, {
    ...(calls !== undefined && { calls }),
    ...(text !== undefined && { pieces: piecesBy(text) }),
    ...(typeof thoughts === "function" && { thoughts: (thought) => newThought(thought.text, thoughts) }),
    ...(thoughts === "remove" && { thoughts: () => undefined, dropsSignatures: true }),
  });
}

function newThought(text: string, change: (text: string) => string): string | undefined {
  const changed = text === "" ? "" : change(text);
  return changed === "" && text !== "" ? undefined : changed;
}

/** {@link editMessage} with changes in this package's form. */
export function editAll<M extends BaseMessage>(message: M, edit: InnerEdit): M {
  const { pieces, thoughts } = edit;
  const calls = typeof edit.calls === "function" ? changedCalls(message, edit.calls) : edit.calls;
  const edits: Edits = { calls, pieces, thoughts, dropsSignatures: edit.dropsSignatures === true };
  const { content } = message as { content: unknown };
  if (speakerOf(message) !== "assistant") {
    return withChanges(message, { content: arranged(editContent(content, edits), edit) });
  }
  const answer = message as unknown as AIMessage;
  const raw = editRaw(answer, edits);
  const edited = arranged(editContent(content, raw.edits), edit);
  const [before, after] = [content, edited].map((value) => contentText(value as MessageContent));
  const fields = answerFields(answer, raw, before === after ? undefined : after);
  return withChanges(message, { ...fields, content: edited });
}

/** The message with the fields that differ from its own; itself if none does. */
function withChanges<M extends BaseMessage>(message: M, fields: Fields): M {
  const own = message as unknown as Fields;
  const changed = Object.entries(fields).filter(([key, value]) => own[key] !== value);
  return changed.length === 0 ? message : copyWith(message, Object.fromEntries(changed));
}

function arranged(content: unknown, { blocks }: InnerEdit): unknown {
  if (blocks === undefined || !Array.isArray(content)) {
    return content;
  }
  const made = blocks(content as readonly Block[]);
  return made.length > 0 && sameElements(made, content) ? content : contentOf(made);
}

/** The content with its texts, thoughts and call blocks changed; the same value if they stay. */
function editContent(content: unknown, { calls, pieces, thoughts }: Edits): unknown {
  if (typeof content === "string") {
    return pieces === undefined ? content : (editText(content, pieces) ?? "");
  }
  if (!Array.isArray(content)) {
    return content;
  }
  let list: readonly unknown[] = content;
  list = thoughts === undefined ? list : editThoughts(list, thoughts);
  list = pieces === undefined ? list : editTexts([list], pieces)[0]!;
  list = calls === undefined ? list : editCallBlocks(list, calls);
  return list === content ? content : contentOf(list as readonly Block[]);
}

/** The changes that change something; undefined if none does. */
function changedCalls(message: BaseMessage, change: NonNullable<MessageEdit["calls"]>): ChangedCalls | undefined {
  const calls = callsOf(message);
  const changes = calls.map((call, place) => realChange(call, change(call, place)));
  return changes.every((made) => made === undefined) ? undefined : { calls, changes };
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

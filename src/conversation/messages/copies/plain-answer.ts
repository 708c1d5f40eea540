import type { BaseMessage, AIMessage } from "@langchain/core/messages";
import { inForm, copyWith } from "../change-message.js";
import { blocksOf, contentOf, blockList, shortContentOf, textBlock, isCompaction, nativeBlock } from "../content.js";
import type { Block } from "../content.js";
import { type Fields, fieldsOf, recordsIn, stringIn, without } from "../message.js";
import { type Media, mediaIn, mediaLeftOut } from "../media.js";
import { isCallBlock } from "./call-copies.js";
import { compactedItems, isThought } from "./thoughts.js";

/**
 * Change of a call: new values, `remove`, or none (undefined). An object as arguments makes an unreadable call
 * readable; a text replaces the text of unreadable arguments.
 */
export type CallChange =
  | {
      /** New id. Rename the tool message that answers the call too. */
      readonly id?: string;
      /** New name of the tool. */
      readonly name?: string;
      /** New arguments. */
      readonly args?: Record<string, unknown> | string;
    }
  | "remove"
  | undefined;

/** A list with each element changed, removed (none) or multiplied; the same list if all stay the same. */
export function mapSame<T>(list: readonly T[], change: (element: T, index: number) => readonly T[]): readonly T[] {
  let isSame = true;
  const changed = list.flatMap((element, index) => {
    const made = change(element, index);
    isSame &&= made.length === 1 && made[0] === element;
    return made;
  });
  return isSame ? list : changed;
}

/** The message with each block changed, removed (none) or multiplied, for a model; itself if all stay the same. */
export function mapBlocks(message: BaseMessage, change: (block: Block) => readonly Block[]): BaseMessage {
  const blocks = blocksOf(message);
  const changed = mapSame(blocks, change);
  return changed === blocks ? message : inForm(message, { content: contentOf(changed) });
}

/** True if the lists hold the same elements in the same order. */
export function sameElements(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((element, index) => element === b[index]);
}

/** The record with other values, or itself if they are the same; undefined removes a key. */
export function withFields<T extends Fields>(record: T, values: Fields): T {
  const changed = Object.entries(values).filter(([key, value]) => record[key] !== value);
  if (changed.length === 0) {
    return record;
  }
  const copy: Record<string, unknown> = { ...record };
  for (const [key, value] of changed) {
    if (value === undefined) {
      delete copy[key];
    } else {
      copy[key] = value;
    }
  }
  return copy as T;
}

/** Key of Google's adapter for thought signatures by call id. */
export const signaturesKey = "__gemini_function_call_thought_signatures__";

/** Keys of OpenAI's adapter for the ids of items by call id. */
export const itemIdKeys = ["__openai_function_call_ids__", "__openai_custom_tool_call_ids__"] as const;

/** Keys of `additional_kwargs` and `response_metadata` that only the adapter which made them reads rightly. */
const rawKwargs = [
  ...["tool_calls", "function_call", "reasoning", "reasoning_content", "tool_outputs", "parsed", "audio", "refusal"],
  ...["originalTextContentBlock", signaturesKey, ...itemIdKeys],
];
const rawMetadata = ["output", "output_version", "logprobs"];

/** The fields in which an answer repeats what it says, and which a plain answer is without. */
export function rawFieldsOf({ additional_kwargs: kwargs, response_metadata: metadata }: BaseMessage): Fields {
  return { ...picked(fieldsOf(kwargs), rawKwargs), ...picked(fieldsOf(metadata), rawMetadata) };
}

function picked(fields: Fields, keys: readonly string[]): Fields {
  return Object.fromEntries(keys.flatMap((key) => (fields[key] === undefined ? [] : [[key, fields[key]] as const])));
}

/** The form of a picture, a recording or a file in an answer; undefined for none. */
type MediaForm = (media: Media, block: Block) => Block | undefined;

/** The calls and the content of a plain answer, where they are not those of the answer. */
export type PlainChanges = Partial<Record<"content" | "tool_calls" | "invalid_tool_calls", unknown>>;

/**
 * The answer in no provider's own form: its text, its calls and its media, and what a provider compacted, without
 * thoughts, signatures, steps of the provider's own tools, ids of items and raw copies. Itself if it is that already.
 */
export function plainAnswer<M extends BaseMessage>(
  message: M,
  changes: PlainChanges = {},
  form: MediaForm = (_, block) => block,
): M {
  const { tool_calls: calls, invalid_tool_calls: invalid } = message as unknown as AIMessage;
  const { tool_call_chunks: chunks } = message as { readonly tool_call_chunks?: readonly unknown[] };
  const source = changes.content ?? message.content;
  const content = plainContent(source, form);
  const all: Fields = {
    tool_calls: changes.tool_calls ?? bareCalls(calls),
    invalid_tool_calls: changes.invalid_tool_calls ?? invalid,
    ...(chunks !== undefined && chunks.length > 0 && { tool_call_chunks: [] }),
    content: content === "" && changes.content === undefined ? spokenText(message) : content,
    additional_kwargs: without(fieldsOf(message.additional_kwargs), ...rawKwargs),
    response_metadata: plainMetadata(fieldsOf(message.response_metadata)),
  };
  const own = message as unknown as Fields;
  const changed = Object.entries(all).filter(([key, value]) => own[key] !== value && (own[key] ?? value) !== undefined);
  return changed.length === 0 ? message : copyWith(message, Object.fromEntries(changed));
}

/** The metadata without raw fields. A compaction of OpenAI's stays: it stands for messages that nothing else tells. */
function plainMetadata(metadata: Fields): Fields {
  const { output } = metadata;
  const items = compactedItems(output);
  const plain = without(metadata, ...rawMetadata);
  const isSame =
    Array.isArray(output) &&
    items.length === output.length &&
    Object.keys(plain).length + 1 === Object.keys(metadata).length;
  return items.length === 0 ? plain : isSame ? metadata : { ...plain, output: items };
}

/** The words of an answer whose content has none: those with which it refuses, or what its recording says. */
export function spokenText({ additional_kwargs: kwargs }: Pick<BaseMessage, "additional_kwargs">): string {
  const { refusal, audio } = fieldsOf(kwargs);
  return stringIn(refusal) || stringIn(fieldsOf(audio)["transcript"]) || "";
}

function plainContent(content: unknown, form: MediaForm): unknown {
  if (!Array.isArray(content)) {
    return content ?? "";
  }
  const blocks = mapSame(blockList({ content }), (block) => plainBlock(block, form));
  if (blocks === content && blocks.length > 0) {
    return content;
  }
  return shortContentOf(blocks);
}

const plainKeys: ReadonlySet<string> = new Set(["type", "text", "cache_control"]);

/** The text of a block of an answer, or its media in a form; none for what only its own adapter reads. */
export function plainBlock(block: Block, form: MediaForm = mediaLeftOut): readonly Block[] {
  const own = nativeBlock(block) as Block;
  if (isThought(block) || isCallBlock(own)) {
    return [];
  }
  const text = [own["text"], own["refusal"]].map(stringIn).find((value) => value !== undefined);
  if (text === undefined) {
    const media = mediaIn(own);
    const formed = isCompaction(own) ? block : media && form(media, own);
    return formed === undefined ? [] : [formed];
  }
  const { cache_control } = own as Fields;
  const isPlain = own.type === "text" && Object.keys(own).every((key) => plainKeys.has(key));
  const marked = cache_control === undefined ? {} : { cache_control };
  return text === "" ? [] : [isPlain ? own : ({ ...textBlock(text), ...marked } as Block)];
}

/** Calls without what only the adapter that made them reads: signatures, ids of items, marks of kinds of tools. */
function bareCalls(calls: AIMessage["tool_calls"]): readonly Fields[] {
  return mapSame(recordsIn(calls) as readonly Fields[], (call) => {
    const { type, id, name, args } = call;
    const bare = { ...(type !== undefined && { type }), name, args, ...(id !== undefined && { id }) };
    return [Object.keys(call).length === Object.keys(bare).length ? call : withFields(bare, {})];
  });
}

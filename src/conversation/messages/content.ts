import type { BaseMessage, ContentBlock, MessageContent, AIMessage, ToolMessage } from "@langchain/core/messages";
import { sameAsJson } from "../../base/json-text.js";
import { fieldsOf, isRecord, stringIn, roleOf, speakerOf, recordsIn, refusedMarkOf, isInterrupted } from "./message.js";
import type { Fields } from "./message.js";

/** A content block as it is stored: any object with a type. */
export type Block = ContentBlock & Readonly<Record<string, unknown>>;

/** The content as blocks; a text is one block of type `text`, an empty text none. */
export function blocksOf(message: BaseMessage): readonly Block[] {
  const { content } = message as { content: unknown };
  if (typeof content === "string") {
    return content === "" ? [] : [textBlock(content)];
  }
  return Array.isArray(content) ? content.map(toBlock) : [];
}

/** The blocks of list content, strings as text blocks: the list itself where it holds nothing but blocks. */
export function blockList({ content }: { readonly content: unknown }): readonly Block[] {
  if (!Array.isArray(content)) {
    return [];
  }
  const isBlock = (element: unknown) => isRecord(element) || typeof element === "string";
  return content.every(isRecord) ? (content as Block[]) : content.filter(isBlock).map(toBlock);
}

/** A block of text. */
export function textBlock(text: string): Block {
  return { type: "text", text };
}

/** True for a block that is nothing but a text, which could be string content. */
export function isBareText(block: Block): block is Block & { readonly text: string } {
  return block.type === "text" && typeof block["text"] === "string" && Object.keys(block).length === 2;
}

/** True for a text in the form of OpenAI's Responses API. */
export function isResponsesText({ type }: Block): boolean {
  return type === "input_text" || type === "output_text";
}

/** True for a text of any form. */
export function isTextBlock(block: Block): boolean {
  return block.type === "text" || isResponsesText(block);
}

/** An element of a list that is not a block becomes one: a string text, anything else a block of unknown type. */
function toBlock(element: unknown): Block {
  if (isRecord(element)) {
    return element as Block;
  }
  return typeof element === "string" ? textBlock(element) : { type: "unknown" };
}

/** The blocks as content: an empty text if there are none, because providers reject an empty list. */
export function contentOf(blocks: readonly Block[]): string | Block[] {
  return blocks.length === 0 ? "" : [...blocks];
}

/** The blocks as content, where a single text needs no list. */
export function shortContentOf(blocks: readonly Block[]): string | Block[] {
  const [first] = blocks;
  return blocks.length === 1 && isBareText(first!) ? first.text : contentOf(blocks);
}

/** The text of a message: its string content, or its text parts joined. Calls, images and reasoning are not text. */
export function textOf({ content }: Pick<BaseMessage, "content">): string {
  return contentText(content);
}

/** The text of content: the string, or its text parts joined; empty if the content is neither string nor list. */
export function contentText(content: MessageContent): string {
  if (typeof content === "string") {
    return content;
  }
  return Array.isArray(content) ? content.map(blockText).join("") : "";
}

/** The text of one part of content, which some stored messages hold as a string; empty for thoughts and other parts. */
export function blockText(block: unknown): string {
  if (typeof block === "string") {
    return block;
  }
  const part = fieldsOf(block) as Block;
  return isTextBlock(part) && part["thought"] !== true ? (stringIn(part["text"]) ?? "") : "";
}

/**
 * The parts of a message as words: text verbatim, other parts as their type in brackets. Omits parts of the types in
 * `silent`, and empty parts.
 */
export function partsInWords(message: BaseMessage, silent?: ReadonlySet<string>): string[] {
  const words = blocksOf(message).map(({ type, text }) =>
    typeof text === "string" ? text : silent?.has(type) ? "" : `[${type ?? "unknown"}]`,
  );
  return words.filter((word) => word !== "");
}

/** True for messages with the same content, whatever the order of keys; a text is one part that holds it. */
export function sameContent(a: BaseMessage, b: BaseMessage): boolean {
  return sameAsJson(blocksOf(a), blocksOf(b));
}

/** True for the mark of LangChain's standard content, which adapters treat differently from a provider's own. */
export function isStandardContent({ response_metadata: metadata }: BaseMessage): boolean {
  return fieldsOf(metadata)["output_version"] === "v1";
}

/** True for a text block that is empty or white space. */
export function isBlankText(block: Block): boolean {
  return block.type === "text" && String(block["text"] ?? "").trim() === "";
}

/** True for an AI message without calls and with blank content only. */
export function saysNothing(message: BaseMessage): boolean {
  const kwargs = fieldsOf(message.additional_kwargs);
  const isSilent = ["function_call", "audio", "refusal"].every((key) => (kwargs[key] ?? undefined) === undefined);
  return isSilent && callsOf(message).length === 0 && blocksOf(message).every(isBlankText);
}

/** Name of the tool by which a model reads stored messages again; see `readEarlierTool`. */
export const readEarlierName = "read_earlier_messages";

/** A tool call of a message. */
export interface Call {
  /** Id that the tool's result names. */
  readonly id: string | undefined;
  /** Name of the tool. */
  readonly name: string;
  /** Arguments; their text where they are not an object. */
  readonly args: unknown;
  /** False if the arguments are not an object. */
  readonly readable: boolean;
}

const noCalls: readonly Call[] = [];

type CallFields = Partial<Readonly<Record<"id" | "name" | "args", unknown>>>;

type CallLists = Partial<Pick<AIMessage, "tool_calls" | "invalid_tool_calls">>;

/** The calls of a message, those with invalid arguments last; none if it is not an AI message. */
export function callsOf(message: BaseMessage): readonly Call[] {
  if (speakerOf(message) !== "assistant") {
    return noCalls;
  }
  const { tool_calls, invalid_tool_calls } = message as CallLists;
  const [calls, invalid] = [recordsIn(tool_calls), recordsIn(invalid_tool_calls)];
  if (calls.length === 0 && invalid.length === 0) {
    return noCalls;
  }
  const listed = calls.map((call) => toCall(call, isRecord(call.args)));
  return invalid.length === 0 ? listed : [...listed, ...invalid.map((call) => toCall(call, false))];
}

function toCall({ id, name, args }: CallFields, readable: boolean): Call {
  return { id: stringIn(id), name: stringIn(name) ?? "", args, readable };
}

/** The ids of {@link callsOf}, in the same order, without calls that have no id. */
export function callIdsOf(message: BaseMessage): string[] {
  return mayCall(message) ? callsOf(message).flatMap(({ id }) => id ?? []) : [];
}

/** False if the message certainly makes no calls. Cheaper than `callsOf`: reads two fields, not the speaker. */
export function mayCall(message: BaseMessage): boolean {
  const { tool_calls, invalid_tool_calls } = message as CallLists;
  return (tool_calls?.length ?? 0) > 0 || (invalid_tool_calls?.length ?? 0) > 0;
}

/** The id of the call that a tool message answers; undefined for a message without one. */
export function answeredId(message: BaseMessage): string | undefined {
  const id: unknown = (message as Partial<ToolMessage>).tool_call_id;
  return typeof id === "string" ? id : undefined;
}

/** A call id for error messages: quoted and truncated. */
export function showId(id: string | undefined): string {
  return id === undefined || id === ""
    ? "without an id"
    : JSON.stringify(id.length > 64 ? `${id.slice(0, 60)}...` : id);
}

/** A call, the index of its message, and the ascending indexes of its results (normally one). */
export interface LinkedCall extends Call {
  readonly index: number;
  /** Index among the calls of its message. */
  readonly place: number;
  readonly results: number[];
}

/** Links between calls and results. */
export interface CallLinks {
  /** Calls by the index of their message. */
  readonly callsAt: ReadonlyMap<number, readonly LinkedCall[]>;
  /** For each message, the call that it answers; undefined for orphans and for other messages. */
  readonly callOf: readonly (LinkedCall | undefined)[];
  /** For each message, the index of the last message before it that is not a tool result; -1 if there is none. */
  readonly blockOf: Int32Array;
  /**
   * Index of the message with calls that is followed by tool results only, so that open calls may still be answered; -1
   * if there is none.
   */
  readonly frontier: number;
}

/** Calls of one message that share an id; those before `next` have a result. */
interface OpenCalls {
  readonly index: number;
  readonly calls: LinkedCall[];
  next: number;
}

/**
 * The calls of a conversation with their results. A result belongs to the nearest earlier message that called its id;
 * if that message called it more than once, to the first of these calls that is still open. Linear.
 */
export function linkCalls(messages: readonly BaseMessage[]): CallLinks {
  const callsAt = new Map<number, readonly LinkedCall[]>();
  const callOf: (LinkedCall | undefined)[] = new Array<undefined>(messages.length).fill(undefined);
  const blockOf = new Int32Array(messages.length);
  const latest = new Map<string, OpenCalls>();
  let previous = -1;
  messages.forEach((message, index) => {
    blockOf[index] = previous;
    if (speakerOf(message) === "tool") {
      callOf[index] = takeResult(latest.get(answeredId(message) ?? ""), index);
      return;
    }
    previous = index;
    // A spread takes several times as long.
    const calls = callsOf(message).map(({ id, name, args, readable }, place) => {
      return { id, name, args, readable, index, place, results: [] };
    });
    if (calls.length > 0) {
      callsAt.set(index, calls);
      calls.forEach((call) => openCall(latest, call));
    }
  });
  return { callsAt, callOf, blockOf, frontier: callsAt.has(previous) ? previous : -1 };
}

function takeResult(open: OpenCalls | undefined, index: number): LinkedCall | undefined {
  if (open === undefined) {
    return undefined;
  }
  const call = open.calls[Math.min(open.next, open.calls.length - 1)]!;
  open.next += 1;
  call.results.push(index);
  return call;
}

function openCall(latest: Map<string, OpenCalls>, call: LinkedCall): void {
  const id = call.id ?? "";
  const open = latest.get(id);
  if (open?.index === call.index) {
    open.calls.push(call);
  } else {
    latest.set(id, { index: call.index, calls: [call], next: 0 });
  }
}

/** Indexes of the tool results that no earlier message called for. Linear; each read calls it: `linkCalls` is slow. */
export function findOrphanResults(messages: readonly BaseMessage[]): number[] {
  const called = new Set<string>();
  const orphans: number[] = [];
  messages.forEach((message, index) => {
    callIdsOf(message).forEach((id) => called.add(id));
    const answered = answeredId(message);
    if (answered !== undefined && !called.has(answered) && roleOf(message) === "tool") {
      orphans.push(index);
    }
  });
  return orphans;
}

/**
 * The block of Anthropic, or the item of OpenAI, by which an answer stands for all messages before it; undefined for
 * other messages, and where the provider could not compact them.
 */
export function compactionIn(message: BaseMessage): Fields | undefined {
  if ((message.getType() as string) !== "ai") {
    return undefined;
  }
  const { content, response_metadata: metadata } = message as { content: unknown; response_metadata: unknown };
  const block = Array.isArray(content) ? content.find((part) => isCompaction(nativeBlock(part))) : undefined;
  if (block !== undefined) {
    return nativeBlock(block) as Fields;
  }
  const { output: items } = (metadata ?? {}) as Fields;
  return Array.isArray(items) ? items.find(isCompaction) : undefined;
}

/** The provider's own block inside of a standard one. */
export function nativeBlock(block: unknown): unknown {
  const { type, value } = (block ?? {}) as Fields;
  return type === "non_standard" ? value : block;
}

/** True for a block or item by which a provider compacted a conversation; false for one without a result. */
export function isCompaction(block: unknown): block is Fields {
  const { type, content, encrypted_content: sealed } = (block ?? {}) as Fields;
  const isNamed = type === "compaction" || type === "compaction_summary";
  return isNamed && (typeof content === "string" || typeof sealed === "string");
}

/** The list from its newest compaction on, behind the system messages; the same list where there is none. */
export function fromCompaction<T>(list: readonly T[], messageOf: (element: T) => BaseMessage): readonly T[] {
  const first = list.findLastIndex((element) => compactionIn(messageOf(element)) !== undefined);
  const isSystem = (element: T) => speakerOf(messageOf(element)) === "system";
  return first <= 0 ? list : [...list.slice(0, first).filter(isSystem), ...list.slice(first)];
}

/** A compaction that a request's adapter does not read, in an answer of another provider's model. */
export interface ForeignCompaction {
  readonly message: BaseMessage;
  /** The provider that compacted. */
  readonly provider: "anthropic" | "openai";
  /** The text that stands for the messages before it; undefined where that is sealed. */
  readonly text: string | undefined;
}

/** The adapter, by the name of its profile, that reads a provider's compactions. */
const readers: Readonly<Record<ForeignCompaction["provider"], string>> = {
  anthropic: "anthropic",
  openai: "openai-responses",
};

/** The compaction of a message that the adapter does not read; undefined for one that it reads, and without one. */
export function foreignCompaction(message: BaseMessage, adapter: string | undefined): ForeignCompaction | undefined {
  const own = adapter === undefined ? undefined : compactionIn(message);
  if (own === undefined) {
    return undefined;
  }
  const text = typeof own["content"] === "string" ? own["content"] : undefined;
  const provider = text === undefined ? "openai" : "anthropic";
  return readers[provider] === adapter ? undefined : { message, provider, text };
}

/** The newest compaction of a list that the adapter does not read. */
export function foreignIn(
  messages: readonly BaseMessage[],
  adapter: string | undefined,
): ForeignCompaction | undefined {
  const message = messages.findLast((each) => compactionIn(each) !== undefined);
  return message && foreignCompaction(message, adapter);
}

/** {@link foreignIn}, where its text is sealed: only what it stands for can take its place. */
export function sealedIn(messages: readonly BaseMessage[], adapter: string | undefined): ForeignCompaction | undefined {
  const foreign = foreignIn(messages, adapter);
  return foreign?.text === undefined ? foreign : undefined;
}

/** True for a complete AI answer: it calls no tool, was not interrupted, and marks no refused request. */
export function isAnswer(message: BaseMessage): boolean {
  return (
    roleOf(message) === "ai" && !mayCall(message) && !isInterrupted(message) && refusedMarkOf(message) === undefined
  );
}

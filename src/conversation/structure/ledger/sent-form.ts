import { isBaseMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { shortHash } from "../../../base/ids.js";
import { jsonText, sortKeys } from "../../../base/json-text.js";
import { answeredId } from "../../messages/calls.js";
import { blocksOf, type Block } from "../../messages/content.js";
import { isSignedThought } from "../../messages/copies/thoughts.js";
import { speakerOf } from "../../messages/roles.js";
import { fieldsOf, isRecord, recordsIn, without, type Fields } from "../../messages/values.js";

/** The facts about a message that thoughts behind it are bound to. */
export interface SentFacts {
  readonly digest: string;
  /** Number of signed thoughts. */
  readonly thoughts: number;
  /** Digest of an answer up to its last signed thought; undefined if it has none. */
  readonly own: string | undefined;
}

/** The digest of a text. */
export function digestOf(text: string): string {
  return shortHash(text, 12);
}

interface KnownFacts extends SentFacts {
  readonly content: unknown;
  readonly calls: unknown;
}

const factsByMessage = new WeakMap<BaseMessage, KnownFacts>();

/**
 * The facts about a message as adapters of Claude's send it: LangChain's names, ids and metadata do not count, marks
 * for the prompt cache neither, and a text is the same as one block of it. Remembered by object.
 */
export function sentFacts(message: BaseMessage): SentFacts {
  const { content, tool_calls: calls } = message as { content: unknown; tool_calls?: unknown };
  const before = factsByMessage.get(message);
  if (before !== undefined && before.content === content && before.calls === calls) {
    return before;
  }
  const facts = { ...readFacts(message), content, calls };
  factsByMessage.set(message, facts);
  return facts;
}

function readFacts(message: BaseMessage): SentFacts {
  const speaker = speakerOf(message);
  const blocks = sentBlocks(message);
  if (speaker === "tool") {
    const isError = (message as { status?: unknown }).status === "error";
    return { digest: digestOf(textOf(["tool", answeredId(message), isError, blocks])), thoughts: 0, own: undefined };
  }
  const digest = digestOf(textOf([speaker, blocks]));
  const last = speaker === "assistant" ? blocks.findLastIndex(isSignedThought) : -1;
  const own = last < 0 ? undefined : digestOf(textOf(blocks.slice(0, last + 1)));
  return { digest, thoughts: last < 0 ? 0 : blocks.filter(isSignedThought).length, own };
}

/** The blocks of the system prompt: of the request's own, and of the system messages in front of the list. */
export function systemBlocks(system: unknown, messages: readonly BaseMessage[]): readonly unknown[] {
  const own = isBaseMessage(system)
    ? sentBlocks(system)
    : typeof system === "string" && system !== ""
      ? [text(system)]
      : [];
  return [...own, ...messages.flatMap(sentBlocks)];
}

function sentBlocks(message: BaseMessage): readonly Fields[] {
  const blocks = blocksOf(message).filter(isSent);
  if (speakerOf(message) !== "assistant") {
    return blocks.map(plain);
  }
  const calls = recordsIn((message as AIMessage).tool_calls);
  const sent = blocks.map((block) => sentBlock(block, calls));
  const ids = new Set(blocks.filter(isCall).map(({ id }) => id));
  return [...sent, ...calls.filter(({ id }) => !ids.has(id)).map(({ id, name, args }) => call(id, name, args))];
}

/** Pieces of a streamed call go out as part of it, and Bedrock's cache points are marks. */
function isSent(block: Block): boolean {
  return block.type !== "input_json_delta" && !("cachePoint" in block);
}

function isCall({ type }: Block): boolean {
  return type === "tool_use" || type === "tool_call";
}

/** A block of an answer; the same in the provider's own and in LangChain's standard content. */
function sentBlock(block: Block, calls: readonly Fields[]): Fields {
  switch (block.type) {
    case "tool_use":
    case "tool_call": {
      const { id, name, input = block["args"] } = block as Fields;
      const own = typeof input === "string" ? calls.find((each) => each["id"] === id) : undefined;
      return call(id, name, own === undefined ? input : own["args"]);
    }
    case "thinking":
      return { type: "thinking", thinking: block["thinking"], signature: block["signature"] };
    case "reasoning":
      return { type: "thinking", thinking: block["reasoning"], signature: block["signature"] };
    default:
      return plain(block);
  }
}

function call(id: unknown, name: unknown, args: unknown): Fields {
  return { type: "tool_use", id, name, input: sortKeys(args) };
}

function text(words: string): Fields {
  return { type: "text", text: words };
}

/** `index` is the place of a streamed block, which is not sent. */
function plain(block: Fields): Fields {
  return without(block, "cache_control", "index");
}

function textOf(value: unknown): string {
  return jsonText(value) ?? "";
}

const toolTexts = new WeakMap<object, string>();

/** The tools of a request as text; a tool that is loaded later is no part of the prefix. */
export function toolsText(tools: readonly unknown[]): string {
  return tools
    .filter(isRecord)
    .map(toolText)
    .filter((told) => told !== "")
    .join("\n");
}

function toolText(tool: Fields): string {
  let told = toolTexts.get(tool);
  if (told === undefined) {
    const sent = sentTool(tool);
    told = sent["defer_loading"] === true ? "" : textOf(sortKeys(plain(sent)));
    toolTexts.set(tool, told);
  }
  return told;
}

/** The tool as Anthropic takes it, the same for each form in which LangChain's models take it. */
function sentTool(tool: Fields): Fields {
  const { function: called, toolSpec, ...told } = fieldsOf(convertToOpenAITool(tool as never));
  if (isRecord(toolSpec)) {
    const { inputSchema, ...named } = toolSpec;
    return { ...without(told, "type"), ...named, input_schema: fieldsOf(inputSchema)["json"] };
  }
  if (!isRecord(called)) {
    return told;
  }
  const { parameters, ...named } = called;
  return { ...without(told, "type"), ...named, input_schema: parameters, ...fieldsOf(tool["extras"]) };
}

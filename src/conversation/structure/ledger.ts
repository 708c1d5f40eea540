import { type BaseMessage, isBaseMessage, type AIMessage } from "@langchain/core/messages";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { shortHash } from "../../base/ids.js";
import { setMetadata } from "../messages/change-message.js";
import { editMessage } from "../messages/copies/edit-message.js";
import { speakerOf, fieldsOf, stringIn, isRecord, recordsIn, without, type Fields } from "../messages/message.js";
import { jsonText, sortKeys } from "../../base/json-text.js";
import { answeredId, blocksOf, type Block } from "../messages/content.js";
import { isSignedThought } from "../messages/copies/thoughts.js";

/** Key in `response_metadata` of an answer's stamp: what its thoughts were made behind, in 12 characters. */
export const prefixKey = "memory_prefix";

/** The parts of a request that stand in front of its messages. */
export interface PrefixParts {
  /** The system prompt, unless it is the first message of the list. @default none */
  readonly system?: string | BaseMessage | undefined;
  /** The tools that the request declares, in any form that LangChain's models take. @default none */
  readonly tools?: readonly unknown[] | undefined;
}

/** Why a thought was left out: what changed in front of it, or that its answer bears no stamp. */
export type DroppedCause = "system" | "tools" | "messages" | "unstamped";

/** The messages before an answer, for {@link stampAnswer}. */
export interface AnswerPrefix {
  /** Digests of system prompt and tools, which tell the cause of a change. */
  readonly front: string;
  /** Digest of the whole. */
  readonly chain: string;
}

/** A request in which each thought stands behind the prefix that it was made to. */
export interface LedgerWalk {
  /** The given messages; answers whose thoughts do not fit are copies without them. */
  readonly messages: BaseMessage[];
  /** For the answer to this request. */
  readonly prefix: AnswerPrefix;
  /** Number of thoughts that go out. */
  readonly sent: number;
  /** Number of thoughts that were left out. */
  readonly dropped: number;
  /** Index of the first message that lost a thought; -1 if there is none. */
  readonly firstAt: number;
  /** Why it lost its thought. */
  readonly cause: DroppedCause | undefined;
  /** False if the model has thought since, so that an earlier request left out the same. */
  readonly isNew: boolean;
}

/**
 * Leaves a thought in a request only behind the very prefix that it was made to, as Claude's models require that bind
 * their thoughts. Compares what is sent, not what was done to the conversation, so that every change counts, whoever
 * made it. The omissions follow from the list alone: later requests leave out the same, and only append.
 *
 * The thoughts of an answer stand or fall together. Linear; give it messages as they go to the model, repaired.
 *
 * @example
 * import { ChatAnthropic } from "@langchain/anthropic";
 * import { HumanMessage, SystemMessage } from "@langchain/core/messages";
 * import { stampAnswer, walkLedger, type DroppedCause } from "langchain-redis-memory/structure";
 *
 * const model = new ChatAnthropic({ model: "claude-opus-5-5" });
 * const { messages, prefix, cause } = walkLedger([new SystemMessage("Be brief."), new HumanMessage("Hi")]);
 * const changed: DroppedCause | undefined = cause; // "system" where another prompt stands in front of an old thought
 * const answer = stampAnswer(await model.invoke(messages), prefix); // store this one
 */
export function walkLedger(messages: readonly BaseMessage[], { system, tools = [] }: PrefixParts = {}): LedgerWalk {
  const first = messages.findIndex((message) => speakerOf(message) !== "system");
  const start = first < 0 ? messages.length : first;
  const front = frontOf(systemBlocks(system, messages.slice(0, start)), tools);
  let chain = front.chain;
  let [sent, dropped, firstAt, isNew] = [0, 0, -1, false];
  let cause: DroppedCause | undefined;
  const walked = messages.slice(0, start);
  for (let index = start; index < messages.length; index += 1) {
    const message = messages[index]!;
    let facts = sentFacts(message);
    let made = message;
    if (facts.own !== undefined) {
      const stamp = stringIn(fieldsOf(message.response_metadata)[prefixKey]);
      isNew = stamp !== stampOf({ front: front.text, chain }, facts.own);
      if (isNew) {
        made = withoutThoughts(message, facts);
        dropped += facts.thoughts;
        facts = sentFacts(made);
        cause ??= causeOf(stamp, front.text);
        firstAt = firstAt < 0 ? index : firstAt;
      } else {
        sent += facts.thoughts;
      }
    }
    walked.push(made);
    chain = digestOf(chain + facts.digest);
  }
  return { messages: walked, prefix: { front: front.text, chain }, sent, dropped, firstAt, cause, isNew };
}

/**
 * The answer to a request with the stamp by which {@link walkLedger} knows its thoughts again; itself if no thought of
 * it is signed. The given message is not changed.
 *
 * @example
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { stampAnswer, walkLedger, type AnswerPrefix } from "langchain-redis-memory/structure";
 *
 * const asked = [new HumanMessage("Hi")];
 * const prefix: AnswerPrefix = walkLedger(asked).prefix;
 * const thought = { type: "thinking", thinking: "A greeting.", signature: "EqQBCgIYAh" };
 * const answer = stampAnswer(new AIMessage({ content: [thought, { type: "text", text: "Hello!" }] }), prefix);
 * const { sent } = walkLedger([...asked, answer, new HumanMessage("Bye")]); // 1
 */
export function stampAnswer<M extends BaseMessage>(answer: M, prefix: AnswerPrefix): M {
  const { own } = sentFacts(answer);
  return own === undefined ? answer : setMetadata(answer, prefixKey, stampOf(prefix, own));
}

function stampOf({ front, chain }: AnswerPrefix, own: string): string {
  return front + digestOf(chain + own).slice(0, stampLength);
}

const systemLength = 2;
const frontLength = 4;
const stampLength = 8;

function frontOf(
  system: readonly unknown[],
  tools: readonly unknown[],
): { readonly text: string; readonly chain: string } {
  const texts = [JSON.stringify(system), toolsText(tools)];
  const [said, told] = texts.map((text) => shortHash(text, systemLength));
  return { text: said! + told!, chain: digestOf(texts.join("\n")) };
}

function causeOf(stamp: string | undefined, front: string): DroppedCause {
  return stamp === undefined ? "unstamped" : (changedFront(stamp, front) ?? "messages");
}

/** The part in front of the messages that is not the same in two stamps; undefined if both are. */
export function changedFront(stamp: string, before: string): "system" | "tools" | undefined {
  if (stamp.slice(0, systemLength) !== before.slice(0, systemLength)) {
    return "system";
  }
  const isSame = stamp.slice(systemLength, frontLength) === before.slice(systemLength, frontLength);
  return isSame ? undefined : "tools";
}

const bare = new WeakMap<SentFacts, BaseMessage>();

/** Remembered by the facts of the message, so that each request sends the same object. */
function withoutThoughts(message: BaseMessage, facts: SentFacts): BaseMessage {
  const made = bare.get(facts) ?? editMessage(message, { thoughts: "remove" });
  bare.set(facts, made);
  return made;
}

/** The facts about a message that thoughts behind it are bound to. */
interface SentFacts {
  readonly digest: string;
  /** Number of signed thoughts. */
  readonly thoughts: number;
  /** Digest of an answer up to its last signed thought; undefined if it has none. */
  readonly own: string | undefined;
}

/** The digest of a text. */
function digestOf(text: string): string {
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
function sentFacts(message: BaseMessage): SentFacts {
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
function systemBlocks(system: unknown, messages: readonly BaseMessage[]): readonly unknown[] {
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
function toolsText(tools: readonly unknown[]): string {
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

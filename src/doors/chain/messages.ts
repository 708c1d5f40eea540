import { isDeepStrictEqual } from "node:util";
import { AIMessage, HumanMessage, isBaseMessage } from "@langchain/core/messages";
import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { toMessage, isRecord, valueIn, roleOf } from "../../conversation/messages/message.js";
import { ConfigurationError } from "../../base/errors.js";
import type { ModelInput } from "../../conversation/structure/seam/model-input.js";
import type { ChainOptions } from "./options.js";
import { metaOf } from "../../store/codec/decode-record.js";
import { jsonText } from "../../base/json-text.js";
import { callsOf, textOf } from "../../conversation/messages/content.js";
import { textAnswer } from "../../conversation/messages/copies/edit-message.js";
import type { StoredMessage } from "../../memory/session/turn-messages.js";

/** Input of a chain with memory: text, a message, messages, or an object with one of these under a key. */
export type ChainInput = string | BaseMessageLike | readonly BaseMessageLike[] | Readonly<Record<string, unknown>>;

/**
 * The messages of an input: the value under `key`, else the only value, else that of `input`; text becomes a human
 * message.
 */
export function inputMessages(input: unknown, key: string | undefined): BaseMessage[] {
  const value = isObject(input) ? input[inputKey(input, key)] : input;
  return messagesOf(value);
}

/** The key of the user messages in an input. */
function inputKey(input: Readonly<Record<string, unknown>>, key: string | undefined): string {
  const keys = Object.keys(input);
  return key ?? (keys.length === 1 ? keys[0]! : "input");
}

/** A runnable's answer. */
export interface ChainAnswer {
  readonly messages: BaseMessage[];
  /** Form of the answer; undefined if it cannot be rebuilt from stored messages. */
  readonly as: "message" | "messages" | "text" | "json" | undefined;
  /** The only key of the output, which holds the answer. */
  readonly key: string | undefined;
}

/** The keys of a chain, and its input. */
type ChainForm = Pick<ChainOptions, "inputMessagesKey" | "outputMessagesKey" | "historyMessagesKey">;

/**
 * The answer in an output: the value under `outputMessagesKey`, else under {@link answerKey}. Only message instances
 * carry a role: what a model or parser wrote is the assistant's text, or JSON text.
 *
 * @throws ConfigurationError `outputMessagesKey` for an output without an answer's key that holds the chain's own input
 * or history: the conversation would be stored again with each answer.
 */
export function answerOf(output: unknown, form: ChainForm, input?: ChainInput): ChainAnswer {
  const generated = (output as { generations?: { message?: BaseMessage }[][] } | undefined)?.generations?.[0]?.[0];
  if (generated?.message !== undefined) {
    return { messages: [generated.message], as: undefined, key: undefined };
  }
  if (!isRecord(output) || isBaseMessage(output)) {
    return { messages: answerMessages(output), as: kindOf(output), key: undefined };
  }
  const key = form.outputMessagesKey ?? answerKey(output);
  if (key === undefined) {
    refuseConversation(output, form, input);
    return { messages: [new AIMessage(jsonOf(output))], as: kindOf(output), key: undefined };
  }
  const value = output[key];
  const isOnly = Object.keys(output).length === 1;
  const messages = isNoMessages(key, value) ? [] : answerMessages(value);
  return {
    messages: key === "raw" && hasRaw(output) ? messages.map(structuredAnswer) : messages,
    as: isOnly ? kindOf(value) : undefined,
    key,
  };
}

/**
 * A structured answer as text. Its call is the form of the answer, which nobody runs: kept as a call, it would need a
 * result in each later request.
 */
function structuredAnswer(raw: BaseMessage): BaseMessage {
  const values = callsOf(raw).map(({ args }) => (typeof args === "string" ? args : (jsonText(args) ?? "")));
  const said = [textOf(raw), ...values].filter((text) => text.trim() !== "");
  return values.length === 0 ? raw : textAnswer(raw, said.join("\n\n"));
}

/** True for the output of `withStructuredOutput` with `includeRaw`. */
function hasRaw(output: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(output).length === 2 && "raw" in output && "parsed" in output;
}

function refuseConversation(
  output: Readonly<Record<string, unknown>>,
  { inputMessagesKey, historyMessagesKey }: ChainForm,
  input: ChainInput | undefined,
): void {
  const own: Readonly<Record<string, unknown>> = isObject(input) ? input : {};
  const isInput = (key: string) => key === inputKey(own, inputMessagesKey) && output[key] === own[key];
  const holdsMessages = (value: unknown) => isBaseMessage(value) || (Array.isArray(value) && value.some(isBaseMessage));
  const held = Object.keys(output).find((key) => {
    return key === historyMessagesKey || (key in own && isInput(key)) || holdsMessages(output[key]);
  });
  if (held !== undefined) {
    throw new ConfigurationError(
      "outputMessagesKey",
      `withRedisMemory: the output holds the conversation itself (key "${held}"), which would be stored again with ` +
        'each answer; name the key that holds the answer with "outputMessagesKey".',
    );
  }
}

/** True for a list of messages that is empty, of an agent that adds nothing. */
function isNoMessages(key: string, value: unknown): boolean {
  return key === "messages" && Array.isArray(value) && value.length === 0;
}

/** True for an object with messages under a key: no message, nor what LangChain makes one of. */
function isObject(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !isMessageLike(value);
}

function kindOf(value: unknown): ChainAnswer["as"] {
  if (typeof value === "string") {
    return "text";
  }
  if (isBaseMessage(value)) {
    return "message";
  }
  if (Array.isArray(value) && value.length > 0 && value.every(isBaseMessage)) {
    return "messages";
  }
  // JSON data comes back as it was, and no other value.
  return isDeepStrictEqual(valueIn(jsonText(value) ?? ""), value) ? "json" : undefined;
}

function jsonOf(output: unknown): string {
  try {
    return JSON.stringify(output);
  } catch {
    throw new ConfigurationError(
      "outputMessagesKey",
      "withRedisMemory: the output has no JSON; " + 'name the key that holds the answer with "outputMessagesKey".',
    );
  }
}

function answerMessages(value: unknown): BaseMessage[] {
  if (value === undefined) {
    throw nothingUnder("outputMessagesKey", "nothing");
  }
  if (isBaseMessage(value)) {
    return [value];
  }
  if (Array.isArray(value) && value.length > 0 && value.every(isBaseMessage)) {
    return value;
  }
  return [new AIMessage(typeof value === "string" ? value : jsonOf(value))];
}

function nothingUnder(option: string, found: string): ConfigurationError {
  return new ConfigurationError(
    option,
    `withRedisMemory: expected text, a message or messages and found ${found}; ` +
      `name the key that holds them with "${option}".`,
  );
}

function messagesOf(value: unknown): BaseMessage[] {
  const option = "inputMessagesKey";
  if (typeof value === "string") {
    return [new HumanMessage(value)];
  }
  const made = (like: unknown, index: number) => toMessage(like, { option, list: "withRedisMemory: messages", index });
  if (isMessageLike(value)) {
    return [made(value, 0)];
  }
  if (Array.isArray(value)) {
    const list: unknown[] =
      value.length === 1 && Array.isArray(value[0]) && !isMessageLike(value[0]) ? value[0] : value;
    if (list.every((element) => typeof element === "string" || isMessageLike(element))) {
      return list.map(made);
    }
  }
  throw nothingUnder(option, value === undefined ? "nothing" : "something else");
}

/**
 * The answer's key in an output: `raw` beside `parsed` (structured output with `includeRaw`), else the only key, else
 * `output`, else `answer`, else `messages`. Undefined unless its value is a message, messages, or, under the first two,
 * text.
 */
function answerKey(output: Readonly<Record<string, unknown>>): string | undefined {
  const keys = Object.keys(output);
  const candidates = hasRaw(output) ? ["raw"] : keys.length === 1 ? keys : ["output", "answer", "messages"];
  return candidates.find((key) => isAnswerAt(key, output[key]));
}

/** True for a message, or a value that LangChain converts to one. */
function isMessageLike(value: unknown): value is BaseMessageLike {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  if (isBaseMessage(value)) {
    return true;
  }
  if (Array.isArray(value)) {
    return (
      value.length === 2 && typeof value[0] === "string" && typeof value[1] === "string" && knownRoles.has(value[0])
    );
  }
  return "content" in value && typeof (value as { role?: unknown }).role === "string";
}

const knownRoles = new Set(["human", "user", "ai", "assistant", "system", "developer", "tool", "placeholder"]);

function isAnswerAt(key: string, value: unknown): boolean {
  const isText = (key === "output" || key === "answer") && typeof value === "string";
  const isList = Array.isArray(value) && value.length > 0 && value.every(isBaseMessage);
  return isText || isList || isBaseMessage(value) || isNoMessages(key, value);
}

/**
 * Input of the runnable: the conversation as a list, or under a key; with a history key, the history under that, and
 * the new user messages under their own.
 */
export function runnableInput(
  input: ChainInput,
  { history, turn }: ModelInput,
  { inputMessagesKey, historyMessagesKey }: Pick<ChainOptions, "inputMessagesKey" | "historyMessagesKey">,
): unknown {
  const sent = [...history, ...turn];
  if (historyMessagesKey === undefined && inputMessagesKey === undefined) {
    return sent;
  }
  const fields: Readonly<Record<string, unknown>> = isObject(input) ? input : { [inputMessagesKey ?? "input"]: input };
  const key = inputKey(fields, inputMessagesKey);
  if (historyMessagesKey === undefined) {
    return { ...fields, [key]: sent };
  }
  return { ...fields, [key]: saidNow(fields[key], turn), [historyMessagesKey]: history };
}

/** The input without its history part; text stays text, and a single message stays one. */
function saidNow(value: unknown, turn: ModelInput["turn"]): unknown {
  if (typeof value === "string" || value === undefined) {
    return value;
  }
  if (isMessageLike(value)) {
    return isBaseMessage(value) && turn.length === 1 ? turn[0] : value;
  }
  return turn;
}

/** The output of a stored turn, and its messages. */
export interface StoredOutput {
  readonly value: unknown;
  readonly messages: readonly BaseMessage[];
}

/**
 * Rebuilds the output of a stored turn; undefined if that is impossible. `sent` is the prefix of an output that repeats
 * the conversation.
 */
export function storedOutput(
  own: readonly StoredMessage[],
  sent: readonly BaseMessage[] = [],
): StoredOutput | undefined {
  const last = own.at(-1);
  const output = last && metaOf(last.record).output;
  if (output === undefined || output.count > own.length) {
    return undefined;
  }
  const messages = own.slice(-output.count).map(({ message }) => message);
  const answer = messages.findLast((message) => roleOf(message) === "ai") ?? messages.at(-1)!;
  const [text, conversation] = [textOf(answer), [...sent, ...messages]];
  const json = output.as === "json" ? valueIn(text) : undefined;
  if (output.as === "json" && json === undefined) {
    // The answer was changed on its way into the store: its text is no value any more.
    return undefined;
  }
  const value = { message: answer, messages, text, conversation, json }[output.as];
  return { value: output.key === undefined ? value : { [output.key]: value }, messages };
}

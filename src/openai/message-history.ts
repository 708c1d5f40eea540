import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { ConfigurationError } from "../errors.js";
import { anyFunction, anyText, lazy, nonNegativeInteger, parseOptions } from "../options.js";
import { copyJson, parseJson } from "./json-value.js";
import { fromLangChain, toLangChain } from "./conversion/langchain-conversion.js";
import {
  newCallsSchema,
  nonEmpty,
  noteFields,
  parseMessage,
  parseMessages,
  requestMessage,
  roleSchema,
} from "./message-schema.js";
import type {
  ContentPart,
  MessageNotes,
  MessageRole,
  MessageToolCall,
  OpenAIMessage,
  OpenAIRequestMessage,
} from "./openai-message.js";
import { readPrompt } from "./prompt/prompt-reader.js";
import { writePrompt } from "./prompt/prompt-writer.js";
import { checkHistory, SavedMessages, type ChatHistoryLike } from "./saved-messages.js";
import { simulatedMessages, type SimulatedCall } from "./simulated-calls.js";
import { systemClock, type Clock } from "./timestamp.js";

/** Options of {@link MessageHistory}. */
export interface MessageHistoryOptions {
  /** Gives the timestamp of messages that are added without one. @default the machine's time */
  readonly clock?: Clock;
}

const owner = "MessageHistory";

const notesSchema = lazy(() => z.strictObject(noteFields()));
const callNotesSchema = lazy(() => notesSchema().omit({ name: true }));
const argumentSchemas = {
  options: lazy(() => z.strictObject({ clock: anyFunction<Clock>().optional() })),
  messages: lazy(() => z.object({ messages: z.array(z.unknown(), "must be an array of messages") })),
  prompt: lazy(() => z.object({ prompt: anyText() })),
  toolCalls: lazy(() => z.object({ toolCalls: newCallsSchema() })),
  toolCallId: lazy(() => z.object({ toolCallId: nonEmpty() })),
  role: lazy(() => z.object({ role: roleSchema() })),
};

/**
 * A conversation in OpenAI's chat format, list-like.
 *
 * Messages are copied in and out: nothing that is given or returned changes the history later. What is added is checked
 * message by message (roles, content parts, calls, timestamps); whether the messages go together is not, since a
 * history may hold a part of a conversation. For that there is `validateConversation(history.toMessages())`.
 *
 * @example
 * const history = new MessageHistory();
 * history.addMessage("user", "What is the weather in Oslo?");
 * history.addToolCall([{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }]);
 * history.addToolResponse("c1", "4 °C", { name: "weather" });
 * await openai.chat.completions.create({ model, messages: history.toOpenAIFormat() });
 */
export class MessageHistory implements Iterable<OpenAIMessage> {
  readonly #clock: Clock;
  #messages: OpenAIMessage[];
  /** Messages that `clear` removed; marks count them, so that they stay valid. */
  #removed = 0;
  readonly #saved = new SavedMessages();

  /** @throws ConfigurationError naming the place of what is wrong, such as `messages.2.content.0.type`. */
  constructor(messages: readonly OpenAIMessage[] = [], options: MessageHistoryOptions = {}) {
    this.#clock = parseOptions(owner, argumentSchemas.options(), options).clock ?? systemClock;
    this.#messages = parseMessages(owner, messages);
  }

  /**
   * The history of LangChain messages. What OpenAI's format cannot say is kept in a message's field `langchain`, for
   * `toMessages`.
   *
   * @throws RecordError `unsupported_message` for a type without a role in the format, with its position.
   */
  static fromMessages(messages: readonly BaseMessage[], options?: MessageHistoryOptions): MessageHistory {
    parseOptions(`${owner}.fromMessages`, argumentSchemas.messages(), { messages });
    return new MessageHistory(messages.map(fromLangChain), options);
  }

  /** The history that `JSON.stringify(history)` wrote. */
  static fromJSON(text: string, options?: MessageHistoryOptions): MessageHistory {
    return new MessageHistory(parseJson(text, `${owner}.fromJSON`) as OpenAIMessage[], options);
  }

  /**
   * The history that `toPrompt` wrote, or that a prompt template rendered: text before the first `message` element is a
   * system message, text after one a user message, other elements stay text. A prompt without messages, or that is not
   * XML, is one user message.
   */
  static fromPrompt(prompt: string, options?: MessageHistoryOptions): MessageHistory {
    parseOptions(`${owner}.fromPrompt`, argumentSchemas.prompt(), { prompt });
    return new MessageHistory(readPrompt(prompt) as unknown as OpenAIMessage[], options);
  }

  /** The messages of a LangChain history. Saving to the same object afterwards adds only what is new. */
  static async load(history: ChatHistoryLike, options?: MessageHistoryOptions): Promise<MessageHistory> {
    checkHistory(`${owner}.load`, history, "getMessages");
    const loaded = MessageHistory.fromMessages(await history.getMessages(), options);
    loaded.#saved.remember(history, loaded.length);
    return loaded;
  }

  /**
   * Appends the messages to a LangChain history, by one `addMessages`: those that were not loaded from this object or
   * saved to it before. Messages get ids that stay the same, so trying again after a failure is safe where the history
   * knows messages by id.
   */
  async save(history: ChatHistoryLike): Promise<void> {
    checkHistory(`${owner}.save`, history, "addMessages");
    await this.#saved.save(history, this.#messages, this.#removed);
  }

  /**
   * Adds what somebody said.
   *
   * @throws ConfigurationError naming the parameter; also for the role `tool`: results need the id of their call, see
   *   `addToolResponse`.
   */
  addMessage(
    role: Exclude<MessageRole, "tool">,
    content: string | readonly ContentPart[],
    notes: MessageNotes = {},
  ): void {
    if ((role as MessageRole) === "tool") {
      throw new ConfigurationError(
        "role",
        `${owner}.addMessage: use addToolResponse for the role "tool"; it takes the id of the call.`,
      );
    }
    this.#add("addMessage", { role, content } as OpenAIMessage, notes, notesSchema());
  }

  /**
   * Adds an assistant message with tool calls: at least one, with ids that differ. Without `content` it has no such
   * key.
   */
  addToolCall(
    toolCalls: readonly MessageToolCall[],
    notes: Omit<MessageNotes, "name"> & { readonly content?: string } = {},
  ): void {
    parseOptions(`${owner}.addToolCall`, argumentSchemas.toolCalls(), { toolCalls });
    const { content, ...others } = notes;
    const message = { role: "assistant", content, tool_calls: toolCalls } as OpenAIMessage;
    this.#add("addToolCall", message, others, callNotesSchema());
  }

  /**
   * Adds the result of a call.
   *
   * The call need not be in this history: it may hold the end of a conversation only, and results may come from
   * elsewhere. A result whose call is nowhere is what `validateConversation` finds.
   */
  addToolResponse(toolCallId: string, content: string | readonly ContentPart[], notes: MessageNotes = {}): void {
    parseOptions(`${owner}.addToolResponse`, argumentSchemas.toolCallId(), { toolCallId });
    this.#add(
      "addToolResponse",
      { role: "tool", content, tool_call_id: toolCallId } as OpenAIMessage,
      notes,
      notesSchema(),
    );
  }

  /**
   * Adds calls that no model made, with their results: an assistant message with all calls, then a tool message for
   * each. All or none are added.
   *
   * @throws ConfigurationError for an id that a call of this history has already.
   */
  addSimulatedCalls(calls: readonly SimulatedCall[]): void {
    const usedIds = this.#messages.flatMap(({ tool_calls: made = [] }) => made.map(({ id }) => id));
    const timestamp = this.#now();
    const added = simulatedMessages(calls, new Set(usedIds)).map((message) => ({ ...message, timestamp }));
    for (const message of parseMessages(`${owner}.addSimulatedCalls`, added)) {
      this.#messages.push(message);
    }
  }

  /** The messages of one role. */
  filterByRole(role: MessageRole): OpenAIMessage[] {
    parseOptions(`${owner}.filterByRole`, argumentSchemas.role(), { role });
    return this.#messages.filter((message) => message.role === role).map(copyMessage);
  }

  /** The newest message; undefined where there is none. */
  getLastMessage(): OpenAIMessage | undefined {
    return this.at(-1);
  }

  /** All messages, oldest first, with metadata and timestamps. */
  toList(): OpenAIMessage[] {
    return this.#messages.map(copyMessage);
  }

  /** All messages as OpenAI's API takes them: without metadata, timestamps and fields that its format does not know. */
  toOpenAIFormat(): OpenAIRequestMessage[] {
    return this.#messages.map(requestMessage);
  }

  /**
   * LangChain messages; what LangChain has no field for is in `additional_kwargs.lcmem_openai`. `fromMessages` reads
   * all of it back.
   */
  toMessages(): BaseMessage[] {
    return this.#messages.map(toLangChain);
  }

  /** What `JSON.stringify(history)` writes: the messages as in `toList`. */
  toJSON(): OpenAIMessage[] {
    return this.toList();
  }

  /**
   * The history as XML, a `chat_history` of `message` elements in the manner of Semantic Kernel; `fromPrompt` reads all
   * of it back.
   */
  toPrompt(): string {
    return writePrompt(this.#messages);
  }

  /** Number of messages. */
  get length(): number {
    return this.#messages.length;
  }

  /** The message at an index, counted from the end where it is negative; undefined where there is none. */
  at(index: number): OpenAIMessage | undefined {
    const message = this.#messages.at(index);
    return message === undefined ? undefined : copyMessage(message);
  }

  /** The messages from `start` up to but not including `end`, by the rules of `Array.slice`. */
  slice(start?: number, end?: number): OpenAIMessage[] {
    return this.#messages.slice(start, end).map(copyMessage);
  }

  /** Copies of the messages that are there when the iteration begins. */
  *[Symbol.iterator](): IterableIterator<OpenAIMessage> {
    for (const message of this.#messages.slice()) {
      yield copyMessage(message);
    }
  }

  /** Removes all messages. Marks stay valid. */
  clear(): void {
    this.#removed += this.#messages.length;
    this.#messages = [];
  }

  /** A mark for {@link MessageHistory.since}: stands for all messages that were added up to now. */
  mark(): number {
    return this.#removed + this.#messages.length;
  }

  /** The messages that were added since the mark was taken: what a run added, for instance. */
  since(mark: number): OpenAIMessage[] {
    parseOptions(
      `${owner}.since`,
      z.object({ mark: nonNegativeInteger.max(this.mark(), "must be a mark of this history") }),
      { mark },
    );
    return this.slice(Math.max(0, mark - this.#removed));
  }

  /** `MessageHistory(3 messages)`. */
  toString(): string {
    return `${owner}(${this.length} messages)`;
  }

  #add(method: string, message: OpenAIMessage, notes: MessageNotes, allowed: z.ZodType): void {
    parseOptions(`${owner}.${method}`, allowed, notes);
    const { timestamp = this.#now(), ...others } = notes;
    this.#messages.push(parseMessage(`${owner}.${method}`, { ...message, ...others, timestamp }));
  }

  #now(): string {
    return this.#clock().toISOString();
  }
}

function copyMessage(message: OpenAIMessage): OpenAIMessage {
  return copyJson(message);
}

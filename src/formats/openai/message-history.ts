import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import { inspectedAs, anyText, lazy, nonNegativeInteger, parseOptions, type SchemaOutput } from "../../base/options.js";
import { copyJson, parseJson } from "../../base/json.js";
import { type SimulatedCall, type WrittenCall, writeCalls } from "../../conversation/messages/simulated-calls.js";
import { fromLangChain, toLangChain } from "./conversion/langchain-conversion.js";
import {
  parseMessage,
  parseMessages,
  requestMessage,
  nonEmpty,
  noteFields,
  roleSchema,
  toolCallsSchema,
} from "./message-schema.js";
import type {
  ContentPart,
  MessageNotes,
  MessageRole,
  MessageToolCall,
  OpenAIMessage,
  OpenAIRequestMessage,
} from "./message.js";
import { readPrompt, writePrompt } from "./xml-prompt.js";
import { checkHistory, SavedMessages, type ChatHistoryLike } from "./saved-messages.js";

const className = "MessageHistory";

/**
 * A list of messages in OpenAI's chat format. Copies messages in and out: changing what you passed in or got back does
 * not change the history. Checks each message that is added (role, content parts, calls, timestamp), but not whether
 * they form a valid conversation: a history may hold part of one. `validateConversation(history.toMessages())` does. A
 * part `audio` with the fields of `input_audio`, as MASEval names it, becomes an `input_audio`.
 *
 * @example
 * import { MessageHistory } from "langchain-redis-memory/openai";
 *
 * const history = new MessageHistory();
 * history.addMessage("user", "What is the weather in Oslo?");
 * history.addToolCall([{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }]);
 * history.addToolResponse("c1", "4 °C", { name: "weather" });
 * const body = JSON.stringify({ model: "gpt-4o-mini", messages: history.toOpenAIFormat() });
 */
export class MessageHistory implements Iterable<OpenAIMessage> {
  #messages: OpenAIMessage[];
  /** Number of messages that `clear` removed; marks count them, so that they stay valid. */
  #removed = 0;
  readonly #saved = new SavedMessages();

  /**
   * Begins with a system message where a text is given.
   *
   * @throws ConfigurationError naming the invalid field, such as `messages.2.content.0.type`.
   */
  constructor(messages: readonly OpenAIMessage[] | string = []) {
    inspectedAs(this, () => this.toString());
    this.#messages = typeof messages === "string" ? [] : parseMessages(className, messages);
    if (typeof messages === "string") {
      this.addMessage("system", messages);
    }
  }

  /**
   * Creates a history from LangChain messages. The field `langchain` of a message keeps what OpenAI's format cannot
   * express, for `toMessages`.
   *
   * @throws RecordError `unsupported_message`, with the position, for a type without a role in the format.
   */
  static fromMessages(messages: readonly BaseMessage[]): MessageHistory {
    checkArgument(`${className}.fromMessages`, "messages", { messages });
    return new MessageHistory(messages.map(fromLangChain));
  }

  /** Restores a history from what `JSON.stringify(history)` wrote. */
  static fromJSON(text: string): MessageHistory {
    return new MessageHistory(parseJson(text, `${className}.fromJSON`) as OpenAIMessage[]);
  }

  /**
   * Reads a history that `toPrompt` wrote or a prompt template rendered. Text before the first `message` element is a
   * system message, text after one a user message; other elements stay text. A prompt without messages is one user
   * message.
   */
  static fromPrompt(prompt: string): MessageHistory {
    checkArgument(`${className}.fromPrompt`, "prompt", { prompt });
    return new MessageHistory(readPrompt(prompt) as unknown as OpenAIMessage[]);
  }

  /** Loads the messages of a LangChain history. Saving to the same object later adds only what is new. */
  static async load(history: ChatHistoryLike): Promise<MessageHistory> {
    checkHistory(`${className}.load`, history, "getMessages");
    const loaded = MessageHistory.fromMessages(await history.getMessages());
    loaded.#saved.remember(history, loaded.length);
    return loaded;
  }

  /**
   * Appends messages to a LangChain history with one `addMessages`: those that were not loaded from or saved to this
   * object before. A retry uses the same message ids, so it is safe if the history recognizes messages by id.
   */
  async save(history: ChatHistoryLike): Promise<void> {
    checkHistory(`${className}.save`, history, "addMessages");
    await this.#saved.save(history, this.#messages, this.#removed);
  }

  /**
   * Adds a message.
   *
   * @throws ConfigurationError naming the parameter; also for the role `tool`, because a result needs the id of its
   *   call: use `addToolResponse`.
   */
  addMessage(
    role: Exclude<MessageRole, "tool">,
    content: string | readonly ContentPart[],
    notes: MessageNotes = {},
  ): void {
    if ((role as MessageRole) === "tool") {
      throw new ConfigurationError(
        "role",
        `${className}.addMessage: role "tool" is not allowed; use addToolResponse, which takes the id of the call.`,
      );
    }
    checkNotes(`${className}.addMessage`, notes);
    this.#add("addMessage", { role, content } as OpenAIMessage, notes);
  }

  /** Adds an assistant message with tool calls: at least one, with different ids. `content` is optional. */
  addToolCall(
    toolCalls: readonly MessageToolCall[],
    notes: Omit<MessageNotes, "name"> & {
      /** Text of the model in the same message. @default nothing */
      readonly content?: string;
    } = {},
  ): void {
    checkArgument(`${className}.addToolCall`, "toolCalls", { toolCalls });
    const { content, ...others } = notes;
    checkArgument(`${className}.addToolCall`, "toolCallNotes", others);
    this.#add("addToolCall", { role: "assistant", content, tool_calls: toolCalls } as OpenAIMessage, others);
  }

  /**
   * Adds the result of a call. The call need not be in this history, which may hold only the end of a conversation;
   * `validateConversation` finds results without a call.
   */
  addToolResponse(toolCallId: string, content: string | readonly ContentPart[], notes: MessageNotes = {}): void {
    checkArgument(`${className}.addToolResponse`, "toolCallId", { toolCallId });
    checkNotes(`${className}.addToolResponse`, notes);
    this.#add("addToolResponse", { role: "tool", content, tool_call_id: toolCallId } as OpenAIMessage, notes);
  }

  /**
   * Adds calls that no model made, with their results: an assistant message with all calls, then a tool message for
   * each. Adds all of them, or none if one is invalid.
   *
   * @throws ConfigurationError for an id that a call of this history already has.
   */
  addSimulatedCalls(calls: readonly SimulatedCall[]): void {
    const usedIds = this.#messages.flatMap(({ tool_calls: made = [] }) => made.map(({ id }) => id));
    const method = `${className}.addSimulatedCalls`;
    const timestamp = now();
    const added = messagesOf(writeCalls(method, calls, usedIds)).map((message) => ({ ...message, timestamp }));
    this.#messages = this.#messages.concat(parseMessages(method, added));
  }

  /** Returns the messages with a role. */
  filterByRole(role: MessageRole): OpenAIMessage[] {
    checkArgument(`${className}.filterByRole`, "role", { role });
    return this.#messages.filter((message) => message.role === role).map((message) => copyJson(message));
  }

  /** Returns the newest message; undefined if there is none. */
  getLastMessage(): OpenAIMessage | undefined {
    return this.at(-1);
  }

  /** Returns all messages, oldest first, with metadata and timestamps. */
  toList(): OpenAIMessage[] {
    return this.#messages.map((message) => copyJson(message));
  }

  /** Returns all messages with only the fields that OpenAI's API accepts as input. */
  toOpenAIFormat(): OpenAIRequestMessage[] {
    return this.#messages.map(requestMessage);
  }

  /**
   * Returns LangChain messages. `additional_kwargs.lcmem_openai` keeps what LangChain has no field for; `fromMessages`
   * restores it.
   */
  toMessages(): BaseMessage[] {
    return this.#messages.map(toLangChain);
  }

  /** Returns the messages as `toList` does, for `JSON.stringify(history)`. */
  toJSON(): OpenAIMessage[] {
    return this.toList();
  }

  /**
   * Returns the history as XML, a `chat_history` of `message` elements as in Semantic Kernel; `fromPrompt` restores all
   * of it.
   */
  toPrompt(): string {
    return writePrompt(this.#messages);
  }

  /** Number of messages. */
  get length(): number {
    return this.#messages.length;
  }

  /** Returns the message at an index, counted from the end if negative; undefined if there is none. */
  at(index: number): OpenAIMessage | undefined {
    const message = this.#messages.at(index);
    return message === undefined ? undefined : copyJson(message);
  }

  /** Returns the messages from `start` up to but not including `end`, as `Array.slice` does. */
  slice(start?: number, end?: number): OpenAIMessage[] {
    return this.#messages.slice(start, end).map((message) => copyJson(message));
  }

  /** Iterates over copies of the messages that exist when the iteration begins. */
  *[Symbol.iterator](): IterableIterator<OpenAIMessage> {
    for (const message of this.#messages.slice()) {
      yield copyJson(message);
    }
  }

  /** Removes all messages. Marks stay valid. */
  clear(): void {
    this.#removed += this.#messages.length;
    this.#messages = [];
  }

  /** Returns a mark for {@link MessageHistory.since}: it stands for all messages added up to now. */
  mark(): number {
    return this.#removed + this.#messages.length;
  }

  /** Returns the messages added since the mark was taken, such as those of one run. */
  since(mark: number): OpenAIMessage[] {
    checkMark(`${className}.since`, mark, this.mark());
    return this.slice(Math.max(0, mark - this.#removed));
  }

  /** Returns `MessageHistory(3 messages)`. */
  toString(): string {
    return `${className}(${this.length} messages)`;
  }

  #add(method: string, message: OpenAIMessage, notes: MessageNotes): void {
    const { timestamp = now(), ...others } = notes;
    this.#messages.push(parseMessage(`${className}.${method}`, { ...message, ...others, timestamp }));
  }
}

function now(): string {
  return new Date().toISOString();
}

/** An assistant message with all calls, then a tool message for each result, in order. */
function messagesOf(calls: readonly WrittenCall[]): OpenAIMessage[] {
  const made = calls.map(({ id, name, arguments: text }) => {
    return { id, type: "function" as const, function: { name, arguments: text } };
  });
  const results = calls.map(({ id, name, result }): OpenAIMessage => {
    return { role: "tool", content: result, name, tool_call_id: id };
  });
  return [{ role: "assistant", tool_calls: made }, ...results];
}

/** Tool calls that the caller makes: at least one, with different ids. */
const newCallsSchema = lazy(() =>
  toolCallsSchema()
    .check(z.minLength(1, "must hold at least one tool call"))
    .check((context) => {
      const seen = new Set<string>();
      context.value.forEach(({ id }, index) => {
        if (id === "" || seen.has(id)) {
          context.issues.push({
            code: "custom",
            message: id === "" ? "must not be empty" : "must differ from the ids before it",
            path: [index, "id"],
            input: id,
          });
        }
        seen.add(id);
      });
    }),
);

const schemas = {
  messages: lazy(() => z.object({ messages: z.array(z.unknown(), "must be an array of messages") })),
  prompt: lazy(() => z.object({ prompt: anyText() })),
  notes: lazy(() => z.strictObject(noteFields())),
  toolCallNotes: lazy(() => z.omit(z.strictObject(noteFields()), { name: true })),
  toolCalls: lazy(() => z.object({ toolCalls: newCallsSchema() })),
  toolCallId: lazy(() => z.object({ toolCallId: nonEmpty() })),
  role: lazy(() => z.object({ role: roleSchema() })),
};

/** Checks an argument of a method of `MessageHistory`. @throws ConfigurationError naming the argument. */
function checkArgument<K extends keyof typeof schemas>(
  owner: string,
  kind: K,
  value: unknown,
): SchemaOutput<(typeof schemas)[K]> {
  return parseOptions(owner, schemas[kind](), value) as SchemaOutput<(typeof schemas)[K]>;
}

/** Checks notes. @throws ConfigurationError naming the field, also for a name that is given by itself. */
function checkNotes(owner: string, notes: unknown): void {
  if (typeof notes === "string") {
    throw new ConfigurationError("notes", `${owner}: give the name as { name } after the content.`);
  }
  checkArgument(owner, "notes", notes);
}

/** Checks a mark. @throws ConfigurationError unless it is from 0 to `latest`. */
function checkMark(owner: string, mark: number, latest: number): void {
  parseOptions(
    owner,
    z.object({ mark: nonNegativeInteger().check(z.maximum(latest, "must be a mark of this history")) }),
    { mark },
  );
}

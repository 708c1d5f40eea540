import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { type AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { MemorySaver } from "@langchain/langgraph";
import { refusedMarkOf } from "../../../src/conversation/messages/message.js";
import { validateConversation } from "../../../src/conversation/structure/validate.js";
import type { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { ToolModel } from "../../support/agents.js";
import { type Ask, type DoorName, doorOf, type Question } from "./doors.js";

/** An answer of the model: text, a message, a function of the request that returns one of these, or an error. */
export type Reply = string | AIMessage | Error | ((request: readonly BaseMessage[]) => string | AIMessage | Error);

/** The answer to every question of the scenes that has none of its own. */
export const wholeAnswer = "A is all.";

const answers: Readonly<Record<string, string>> = { hi: "hello", next: "fine" };

/** Words that a provider refuses in every request, and with which error. */
export type Poison = Readonly<Record<string, () => Error>>;

/** The word in front of a text, by which the scenes tell messages. */
export function wordOf({ text }: BaseMessage): string {
  return text.split(" ")[0]!;
}

/**
 * A model that refuses each request that holds a poisoned word, gives the replies that it was told, and answers the
 * rest. Waits for `onWord` before each word, and calls `onEnd` behind the last one.
 */
export class SceneModel extends ToolModel {
  replies: Reply[] = [];
  poison: Poison = {};
  onWord: ((index: number) => unknown) | undefined;
  onEnd: (() => void) | undefined;

  /** The answer to a question, by its first word. */
  answerTo: (question: string) => string = () => wholeAnswer;

  constructor() {
    super((request) => this.#reply(request));
  }

  override async _generate(messages: BaseMessage[], options?: this["ParsedCallOptions"]): Promise<ChatResult> {
    const result = await super._generate(messages);
    for (const index of [0, 1]) {
      await this.onWord?.(index);
      options?.signal?.throwIfAborted();
    }
    this.onEnd?.();
    return result;
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { generations } = await super._generate(messages);
    const { id, text, tool_calls: calls = [] } = generations[0]!.message as AIMessage;
    const words = text.split(/(?<= )/);
    for (const [index, word] of words.entries()) {
      await this.onWord?.(index);
      options.signal?.throwIfAborted();
      const parts = calls.map(({ name, args, id: callId = "" }, at) => {
        return { name, args: JSON.stringify(args), index: at, type: "tool_call_chunk" as const, id: callId };
      });
      const message = new AIMessageChunk({ content: word, tool_call_chunks: parts, ...(id !== undefined && { id }) });
      const chunk = new ChatGenerationChunk({ text: word, message });
      await runManager?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
    this.onEnd?.();
  }

  #reply(request: readonly BaseMessage[]): string | AIMessage | Error {
    const read = request
      .filter(({ type }) => type === "human" || type === "tool")
      .flatMap(({ text }) => text.split(" "));
    const refused = read.find((word) => Object.hasOwn(this.poison, word));
    if (refused !== undefined) {
      return this.poison[refused]!();
    }
    const reply = this.replies.shift();
    if (reply !== undefined) {
      return typeof reply === "function" ? reply(request) : reply;
    }
    const question = request.findLast(({ type }) => type === "human")!;
    return answers[wordOf(question)] ?? this.answerTo(wordOf(question));
  }
}

/** What the caller got for a question. */
export interface Outcome {
  readonly texts: ReadonlySet<string>;
  readonly error: Error | undefined;
}

/** Where a scene plays: a new instance on the same sessions, each time it is called. */
export type OpenMemory = () => RedisChatMemory;

/** How a door is opened in a scene. */
export interface SceneSetting {
  readonly door: DoorName;
  readonly persist: "step" | "turn";
  readonly holdMs?: number | undefined;
  readonly isParsed?: boolean | undefined;
}

const sessionId = "ann";

/** One session, and the door through which its questions come. */
export class Scene {
  readonly model = new SceneModel();
  readonly #setting: SceneSetting;
  readonly #threads = new MemorySaver();
  #memory: RedisChatMemory;
  #ask: Ask;

  constructor(memory: RedisChatMemory, setting: SceneSetting) {
    this.#setting = setting;
    this.#memory = memory;
    this.#ask = this.#opened();
  }

  /** Goes on with another instance, as behind a restart. */
  restart(memory: RedisChatMemory): void {
    this.#memory = memory;
    this.#ask = this.#opened();
  }

  /** Asks a question; never rejects. */
  async ask(text: string, { way, ...how }: Partial<Question> & { readonly way?: string } = {}): Promise<Outcome> {
    const question = { text, turnId: text, ...how };
    const outcome = await this.#ask(question, way ?? doorOf(this.#setting.door).ways[0]!).then(
      (texts): Outcome => ({ texts, error: undefined }),
      (error: unknown): Outcome => ({ texts: new Set(), error: error as Error }),
    );
    await this.#memory.drain();
    return outcome;
  }

  /** What was sent since the last call: each request as words. */
  takeSent(): string[] {
    return this.takeRequests().map(sketched);
  }

  /** The requests since the last call. */
  takeRequests(): BaseMessage[][] {
    return this.model.sent.splice(0);
  }

  /** The transcript as words. */
  async stored(): Promise<string> {
    return sketched(await this.#memory.history(sessionId).getTranscript());
  }

  /** Ids that two messages of the transcript have. */
  async repeatedIds(): Promise<string[]> {
    const ids = (await this.#memory.history(sessionId).getTranscript()).map(({ id }) => id ?? "");
    return ids.filter((id, index) => ids.indexOf(id) !== index);
  }

  #opened(): Ask {
    const setting = { ...this.#setting, memory: this.#memory, model: this.model, threads: this.#threads, sessionId };
    return doorOf(this.#setting.door).open(setting);
  }
}

/**
 * Messages as words: a question and an answer by its first word, `call` and `found` of a tool, `refused` for the mark,
 * `A…` for a part of an answer, `""` for an empty one.
 */
export function sketched(messages: readonly BaseMessage[]): string {
  return messages.map(sketchOf).join(" ");
}

function sketchOf(message: BaseMessage): string {
  const { text, type } = message;
  if (refusedMarkOf(message) !== undefined) {
    return "refused";
  }
  if (type === "tool") {
    return text.startsWith("(The model's provider refused") ? "note" : wordOf(message);
  }
  if (type !== "ai") {
    return type === "human" ? wordOf(message) : `${type}:${text}`;
  }
  if ((message.response_metadata as Record<string, unknown>)["interrupted"] !== undefined) {
    return `${text.trim().replaceAll(" ", "_")}…`;
  }
  const calls = (message as { readonly tool_calls?: readonly unknown[] }).tool_calls ?? [];
  return calls.length > 0 ? "call" : text === wholeAnswer ? "A" : text || '""';
}

/** Issues of a request that a provider with these rules refuses. */
export function issuesOf(request: readonly BaseMessage[]): string[] {
  const issues = validateConversation(request, { profile: "openai", purpose: "model-input" });
  return issues.filter(({ severity }) => severity === "error").map(({ rule }) => rule);
}

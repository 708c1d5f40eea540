import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import type { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { refusedMarkOf } from "../../../src/conversation/messages/message.js";
import { validateConversation } from "../../../src/conversation/structure/validate.js";
import { doorOf, type Ask, type DoorName, type Question } from "./doors.js";
import { SceneModel, wholeAnswer, wordOf } from "./scene-model.js";

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

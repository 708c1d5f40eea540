import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { InMemorySessionStore, RedisChatMemory } from "../../src/entries/index.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import type { TokenCounter } from "../../src/conversation/tokens/token-counter.js";
import { ScriptedModel } from "./scripted-model.js";

/** The config of a call in session `s`. */
export const inSession: RunnableConfig = { configurable: { sessionId: "s" } };

/** Counts a message as one token. */
export const perMessage: TokenCounter = { id: "messages", perRequest: 0, countMessage: () => 1, countText: () => 1 };

/** A memory in process. */
export function memoryWith(options: MemorySettings = {}): RedisChatMemory {
  return new RedisChatMemory({ store: new InMemorySessionStore(), ...options });
}

/** The types of messages, in their order. */
export function kindsOf(messages: readonly BaseMessage[]): string[] {
  return messages.map(({ type }) => type);
}

/** The texts of messages, in their order. */
export function textsOf(messages: readonly BaseMessage[]): string[] {
  return messages.map(({ text }) => text);
}

/** A model that gives one answer and remembers what it is sent. */
export function answering(answer = "fine"): ScriptedModel {
  return new ScriptedModel(() => answer);
}

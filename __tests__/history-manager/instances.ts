import type { BaseMessage } from "@langchain/core/messages";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import type { ToolCallResponse } from "../../src/doors/tool-loop/turn/tool-results.js";
import type { Chunk } from "../../src/doors/tool-loop/stored/references.js";
import type { HistoryManagerOptions, ModelCallRequest } from "../../src/doors/tool-loop/history-manager-options.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import type { TokenCounter } from "../../src/conversation/tokens/counted-messages.js";

/**
 * A counter by which sizes can be told by hand: a token a character of content and arguments, 10 a message, 500 an
 * image.
 */
export function characterCounter(onCount: (message: BaseMessage) => void = () => undefined): TokenCounter {
  return {
    id: "characters",
    perRequest: 3,
    countText: (text) => text.length,
    countMessage: (message) => {
      onCount(message);
      const { content } = message;
      const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
      const size = parts.reduce((sum, part) => sum + (part.type === "text" ? String(part["text"]).length : 500), 0);
      const calls = (message as { tool_calls?: { args: unknown }[] }).tool_calls ?? [];
      return 10 + size + calls.reduce((sum, { args }) => sum + JSON.stringify(args).length, 0);
    },
  };
}

/** One session and the store that its instances share. */
export interface Session {
  readonly store: SessionStore;
  readonly commands: string[];
  /** A manager as another process would make it. */
  instance(options?: Partial<HistoryManagerOptions>): HistoryManager;
  history(): RedisChatMessageHistory;
}

/** A session on a store of its own. */
export function newSession(maxInputTokens = 100_000, given?: SessionStore): Session {
  const commands: string[] = [];
  const store =
    given ??
    new InMemorySessionStore({ onEvent: (event) => event.type === "command" && commands.push(event.operation) });
  const history = () => new RedisChatMessageHistory({ sessionId: "s", store });
  return {
    store,
    commands,
    history,
    instance: (options) =>
      new HistoryManager({
        history: history(),
        maxInputTokens,
        tokenCounter: characterCounter(),
        safetyMargin: 0,
        ...options,
      }),
  };
}

/** What a model call asks for, with the texts that a test does not care for. */
export function asking(originalUserMessage: string, rest: Partial<ModelCallRequest> = {}): ModelCallRequest {
  return { originalUserMessage, renderedUserMessage: originalUserMessage, renderedSystemMessage: "Be kind.", ...rest };
}

/** Chunks of a document, the most relevant first, with texts of a given length. */
export function chunks(count: number, { id = "doc", length = 20 }: { id?: string; length?: number } = {}): Chunk[] {
  return Array.from({ length: count }, (_, index) => ({
    id,
    chunkId: `c${index}`,
    text: `${id} ${index} `.padEnd(length, "x"),
  }));
}

/** A call of the tool `search`. */
export function call(
  id: string,
  args: Record<string, unknown> = { query: id },
): { id: string; name: string; args: Record<string, unknown> } {
  return { id, name: "search", args };
}

/** A step of a turn: a call of the tool `search`, and its result. */
export async function search(
  manager: HistoryManager,
  id: string,
  result: Omit<ToolCallResponse, "id" | "name">,
): Promise<void> {
  manager.appendToolCalls([call(id)]);
  await manager.addToolCallResults([{ id, name: "search", ...result }]);
}

/** The result of a call as the model reads it. */
export function resultOf(messages: readonly BaseMessage[], callId: string): string {
  const found = messages.find((message) => (message as { tool_call_id?: string }).tool_call_id === callId);
  return found === undefined ? "no such result" : String(found.content);
}

/** The source numbers that the model reads in the result of a call. */
export function sourcesIn(messages: readonly BaseMessage[], callId: string): number[] {
  const [json = ""] = resultOf(messages, callId).split("\n\n");
  return json.startsWith("[{")
    ? (JSON.parse(json) as { source_number: number }[]).map(({ source_number }) => source_number)
    : [];
}

/** The tool `search`, as a model is given it. */
export const searchTools = [
  {
    type: "function" as const,
    function: {
      name: "search",
      description: "Finds rules of travelling by what was asked. ".repeat(4),
      parameters: { type: "object", properties: { query: { type: "string", description: "What was asked." } } },
    },
  },
];

/** Turns that are played with a model that counts in its own way. */
export interface Scene {
  readonly window: number;
  /** Tokens of the provider for one of the counter. */
  readonly ratio: number;
  /** Per turn: the lengths of the question and of each result. */
  readonly turns: readonly { readonly question: number; readonly results: readonly number[] }[];
}

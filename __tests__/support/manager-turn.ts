import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ai } from "./messages.js";

/** A turn of a HistoryManager without tools: a question, its answer, and the write of both. */
export async function managerTurn(history: RedisChatMessageHistory, question: string, answer: string): Promise<void> {
  const manager = new HistoryManager({ history, maxInputTokens: 10_000 });
  await manager.getHistoryForModelCall({
    originalUserMessage: question,
    renderedUserMessage: question,
    renderedSystemMessage: "",
  });
  manager.addAssistantMessage(ai(answer));
  await manager.commit();
}

import { startOpenAIServer, type OpenAIServer } from "../../testing/openai-server.js";

/**
 * A model that repeats in its answer what it was asked last. A question that begins with "long" is answered for longer
 * than a test takes the first time, so that a page can stop it or leave it, and shortly when it is asked again; one
 * that begins with "slow" in some seconds, and one that begins with "held" when it is released.
 */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const asked = new Set<string>();
  const held = new Map<string, () => void>();
  const server = await startOpenAIServer({
    reply: async ({ messages }) => {
      const { content } = (messages as { role: string; content: string }[]).findLast(({ role }) => role === "user")!;
      const again = asked.has(content);
      asked.add(content);
      await (content.startsWith("held") ? new Promise<void>((resolve) => held.set(content, resolve)) : undefined);
      if (content.startsWith("slow")) {
        return { content: slowAnswer(content), chunkDelayMs: 5 };
      }
      return content.startsWith("long") && !again
        ? { content: `The beginning of ${content}. ${"More. ".repeat(30_000)}`, chunkDelayMs: 50 }
        : `Answer to ${content}.`;
    },
  });
  const release = (question: string) => {
    held.get(question)!();
    held.delete(question);
  };
  return { ...server, isHeld: (question) => held.has(question), release };
}

/** That model, with the questions that it does not answer yet. */
export interface ScriptedModel extends OpenAIServer {
  isHeld(question: string): boolean;
  release(question: string): void;
}

/** The answer to a question that begins with "slow". */
export function slowAnswer(question: string): string {
  return `The beginning of ${question}. ${Array.from({ length: 300 }, (_, word) => `word${word}`).join(" ")}.`;
}

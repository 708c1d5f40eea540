import { startOpenAIServer, type OpenAIServer } from "../../testing/openai-server.js";

/**
 * A model that repeats in its answer what it was asked last. A question that begins with "long" is answered for minutes
 * the first time, so that a page can stop it or leave it, and shortly when it is asked again.
 */
export async function startScriptedModel(): Promise<OpenAIServer> {
  const asked = new Set<string>();
  return startOpenAIServer({
    reply: ({ messages }) => {
      const { content } = (messages as { role: string; content: string }[]).findLast(({ role }) => role === "user")!;
      const again = asked.has(content);
      asked.add(content);
      return content.startsWith("long") && !again
        ? { content: `The beginning of ${content}. ${"More. ".repeat(30_000)}`, chunkDelayMs: 5 }
        : `Answer to ${content}.`;
    },
  });
}

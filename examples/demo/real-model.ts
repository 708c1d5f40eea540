import { ChatOpenAI } from "@langchain/openai";
import { withRedisMemory } from "langchain-redis-memory";
import type { Backend } from "./backend.js";

/** With OPENAI_API_KEY: asks the real model about the first conversation, through the same memory. */
export async function askRealModel(backend: Backend, sessionId: string): Promise<void> {
  if (process.env["OPENAI_API_KEY"] === undefined) {
    return;
  }
  const model = new ChatOpenAI({ model: process.env["OPENAI_MODEL"] ?? "gpt-4o-mini" });
  const chain = withRedisMemory(model, { memory: backend.instances[1]!, sessionId });
  const answer = await chain.invoke("In one sentence: what have you done for me so far?");
  console.log(`\nThe real model on ${sessionId}: ${answer.text}`);
}

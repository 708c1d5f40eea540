import { pathToFileURL } from "node:url";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { HumanMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatOpenAI } from "@langchain/openai";
import { type Job, Worker } from "bullmq";
import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";

/** A question that waits for its answer. Its `messageId` is made where the user asks, and not with each attempt. */
export interface Question {
  readonly chat: string;
  readonly owner: string;
  readonly messageId: string;
  readonly text: string;
}

export const queueName = "questions";
/** Of Redis; the queue opens connections of its own. */
export const connection = { url: process.env["REDIS_URL"] ?? "redis://localhost:6379" };

/**
 * Answers the questions of the queue. An attempt that follows one that has stored its answer returns that answer: the
 * id of the question names the turn, so neither is stored twice, and the model is not called again.
 */
export function startWorker(memory: RedisChatMemory, model: BaseChatModel): Worker<Question, string> {
  const chat = withRedisMemory(model.pipe(new StringOutputParser()), { memory });
  const answer = async ({ data }: Job<Question>) => {
    const session = sessionConfig({ sessionId: data.chat, owner: data.owner, turnId: data.messageId });
    const said = await chat.invoke([new HumanMessage({ id: data.messageId, content: data.text })], session);
    await deliver(data, said);
    return said;
  };
  return new Worker(queueName, answer, { connection, concurrency: 10 });
}

/** Tells the user, by a push message for example. It fails once for the question "once", to show the retry. */
async function deliver({ messageId }: Question, _said: string): Promise<void> {
  if (messageId === "once" && !failed.has(messageId)) {
    failed.add(messageId);
    throw new Error("The push service did not answer.");
  }
}
const failed = new Set<string>();

if (import.meta.url === pathToFileURL(process.argv[1]!).href) {
  const memory = new RedisChatMemory({ ...connection, sessionTTL: 30 * 24 * 3600 });
  const worker = startWorker(memory, new ChatOpenAI({ model: "gpt-4o-mini" }));
  process.once("SIGTERM", () => void worker.close().then(() => memory.close()));
  console.log(`Waiting for questions in the queue "${queueName}".`);
}

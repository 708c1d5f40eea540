// Two workers; a job that fails after its answer was stored, and is tried again. The model is on this machine.
import { randomUUID } from "node:crypto";
import { ChatOpenAI } from "@langchain/openai";
import { Queue, QueueEvents } from "bullmq";
import { RedisChatMemory } from "langchain-redis-memory";
import { startOpenAIServer } from "langchain-redis-memory/testing";
import { connection, queueName, startWorker, type Question } from "./worker.js";

const provider = await startOpenAIServer({ reply: (_body, count) => `This is answer ${count}.` });
const model = new ChatOpenAI({ model: "gpt-4o-mini", apiKey: "none", configuration: { baseURL: provider.url } });
const memories = [1, 2].map(() => new RedisChatMemory({ ...connection, sessionTTL: 600 }));
const workers = memories.map((memory) => startWorker(memory, model));
const queue = new Queue<Question, string>(queueName, { connection });
const events = new QueueEvents(queueName, { connection });
await events.waitUntilReady();

const chat = randomUUID();
for (const messageId of ["first", "once"]) {
  const question = { chat, owner: "ann", messageId, text: `A question, ${messageId}.` };
  const job = await queue.add("answer", question, { attempts: 3, backoff: { type: "fixed", delay: 100 } });
  const answer = await job.waitUntilFinished(events);
  const { attemptsMade } = (await queue.getJob(job.id!))!;
  console.log(`${messageId}: "${answer}" after ${attemptsMade} attempt(s), ${provider.requests.length} calls in all`);
}
const history = memories[0]!.history(chat, { owner: "ann" });
console.log(`Stored: ${(await history.getTranscript()).map((message) => message.getType()).join(", ")}`);

await memories[0]!.sessions.delete(chat, { owner: "ann" });
await Promise.all([...workers, events].map((part) => part.close()));
await queue.obliterate({ force: true });
await queue.close();
await Promise.all([...memories.map((memory) => memory.close()), provider.close()]);

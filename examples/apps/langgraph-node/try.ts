// A graph that waits for a person, and goes on in another instance. With OPENAI_API_KEY the model is the real one.
import { randomUUID } from "node:crypto";
import { Command, isInterrupted } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { RedisChatMemory } from "langchain-redis-memory";
import { startOpenAIServer } from "langchain-redis-memory/testing";
import { createGraph } from "./graph.js";

const provider = await startOpenAIServer({ reply: (_body, count) => ["Try 'Dubliners'.", "James Joyce."][count - 1]! });
const fields = {
  model: "gpt-4o-mini",
  ...(!process.env["OPENAI_API_KEY"] && { apiKey: "none", baseURL: provider.url }),
};
const model = new ChatOpenAI({ ...fields, configuration: { baseURL: fields.baseURL } });

const url = process.env["REDIS_URL"] ?? "redis://localhost:6379";
const memories = [1, 2].map(() => new RedisChatMemory({ url, sessionTTL: 600 }));
const [one, two] = memories.map((memory) => createGraph(memory, model));

const id = `reader-${randomUUID()}`;
const config = { configurable: { thread_id: id, sessionId: id } };
for (const question of ["A book about Dublin?", "Who wrote it?"]) {
  const waiting = await one!.invoke({ question }, config);
  console.log(`${question} ${isInterrupted(waiting) ? "waits for the approval" : "was answered"}`);
  const { answer } = await two!.invoke(new Command({ resume: true }), config);
  console.log(`Approved on the second instance: ${answer}`);
}
const [memory] = memories;
console.log(`The memory has ${(await memory!.history(id).getTranscript()).length} messages, the graph's state none.`);

await memory!.sessions.delete(id); // and the thread of the same id
await Promise.all([...memories.map((each) => each.close()), provider.close()]);

// A sidebar of conversations: `npx tsx examples/12-conversations.ts --serve` keeps it open for a browser; without
// --serve, this program does by HTTP what the page does.
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { ChatOpenAI } from "@langchain/openai";
import { ChatHistoryTruncationReducer, RedisChatMemory } from "langchain-redis-memory";
import { startOpenAIServer } from "langchain-redis-memory/testing";
import { useConversations } from "./support/conversations-client.js";
import { startConversations } from "./support/conversations-server.js";
import { connection } from "./support/setting.js";

// A model server of this process, unless there is a key for the real one. The second answer is the one to be stopped.
const serve = process.argv.includes("--serve");
const local = await startOpenAIServer({
  reply: (body, count) => ({ content: scriptedAnswer(body, count), chunkDelayMs: serve ? 60 : count === 2 ? 20 : 0 }),
});
const key = process.env["OPENAI_API_KEY"];
const model =
  key === undefined
    ? new ChatOpenAI({ apiKey: "none", model: "local", configuration: { baseURL: local.url } })
    : new ChatOpenAI({ model: process.env["OPENAI_MODEL"] ?? "gpt-4o-mini" });

const memory = new RedisChatMemory({
  ...connection(),
  sessionTTL: 86_400,
  reducer: new ChatHistoryTruncationReducer({ targetCount: 20, thresholdCount: 10 }),
});
const users = serve ? ["Ann", "Ben"] : [`Ann ${randomUUID()}`, `Ben ${randomUUID()}`];
const server = await startConversations({ model, memory, users, port: Number(process.env["PORT"] ?? 0) });
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

if (serve) {
  console.log(`Open ${url} in a browser; Ctrl-C ends the server.`);
} else {
  await useConversations(url, users);
  server.close();
  server.closeAllConnections();
  await memory.close();
  await local.close();
}

function scriptedAnswer(body: Record<string, unknown>, count: number): string {
  const messages = body["messages"] as readonly { readonly role: string; readonly content: string }[];
  const asked = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const answers = [
    `You asked: "${asked.at(-1)}". I have no key, so this is all that I can say about it.`,
    `Answer ${count}. In this conversation I have seen ${asked.length} of your questions. `.repeat(12),
    `A short one: ${asked.length}.`,
  ];
  return answers[(asked.length + count) % answers.length]!;
}

import { ChatOpenAI } from "@langchain/openai";
import { RedisChatMemory } from "langchain-redis-memory";
import { createApp } from "./app.js";

const memory = new RedisChatMemory({
  url: process.env["REDIS_URL"] ?? "redis://localhost:6379",
  sessionTTL: 30 * 24 * 3600,
});
const port = Number(process.env["PORT"] ?? 3000);
createApp(memory, new ChatOpenAI({ model: "gpt-4o-mini" })).listen(port, () => {
  console.log(`http://localhost:${port}`);
});

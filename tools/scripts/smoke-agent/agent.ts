// What users of the agent entry write, checked against the declarations of the package.
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createAgent } from "langchain";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware, type RedisMemoryMiddlewareOptions } from "langchain-redis-memory/agent";

const options: RedisMemoryMiddlewareOptions = { memory: new RedisChatMemory({ url: "redis://localhost" }) };

/** An agent with a memory. */
export const agentOn = (model: BaseChatModel) =>
  createAgent({ model, tools: [], middleware: [redisMemoryMiddleware(options)] });

// @ts-expect-error A memory is needed.
export const noMemory = () => redisMemoryMiddleware({});

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { ChatOpenAI } from "@langchain/openai";
import { InMemorySessionStore } from "langchain-redis-memory";

/** Where the example keeps its conversations: the server of REDIS_URL, or this process. */
export function connection(): { url: string } | { store: InMemorySessionStore } {
  const url = process.env["REDIS_URL"];
  return url === undefined || url === "" ? { store: new InMemorySessionStore() } : { url };
}

/** OpenAI's model with OPENAI_API_KEY, else one that says these sentences in turn. */
export function chatModel(responses: string[]): BaseChatModel {
  return process.env["OPENAI_API_KEY"] === undefined
    ? (new FakeListChatModel({ responses }) as unknown as BaseChatModel)
    : new ChatOpenAI({ model: process.env["OPENAI_MODEL"] ?? "gpt-4o-mini" });
}

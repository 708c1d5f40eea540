// Stands for OpenAI on this machine: a model without a key, whose answers stream for ten seconds.
import { startOpenAIServer } from "langchain-redis-memory/testing";

const call = { toolCalls: [{ name: "weather", arguments: { city: "Oslo" } }] };
const answer = { content: "It is cold in Oslo. ".repeat(20), chunkDelayMs: 200 }; // ten seconds: time for a Stop
const reply = ({ messages, tools }: Record<string, unknown>) =>
  tools === undefined || (messages as { role: string }[]).at(-1)?.role === "tool" ? answer : call;
await startOpenAIServer({ port: 4000, reply });

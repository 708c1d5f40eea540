// A program whose last line waits for a run that another middleware ended behind the memory's first hook.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createAgent, createMiddleware } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";

const onEvent = ({ type }: { readonly type: string }) => console.log(type);
const memory = new RedisChatMemory({ store: new InMemorySessionStore(), onEvent });
const refusing = createMiddleware({
  name: "Refusing",
  beforeModel: {
    canJumpTo: ["end"],
    hook: () => ({ messages: [new AIMessage("no")], jumpTo: "end" as const }),
  },
});
const model = new FakeListChatModel({ responses: ["yes"] });
const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory }), refusing] });
await agent.invoke({ messages: [new HumanMessage("Hi")] }, { configurable: { sessionId: "ann" } });
await memory.drain();
console.log("drained");

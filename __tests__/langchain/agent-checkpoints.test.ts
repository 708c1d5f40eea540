import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { lookup, lookupCall, sketch, ToolModel } from "../support/agents.js";

const config = { configurable: { thread_id: "thread", sessionId: "ann" } };

/** An agent beside a checkpointer, whose model repeats what it was asked last. */
function checkpointedAgent(durability: "sync" | "async" | "exit" = "async") {
  const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
  const model = new ToolModel((messages) => {
    const asked = messages.findLastIndex((message) => message.getType() === "human");
    const { text } = messages[asked]!;
    return text.startsWith("look") && asked === messages.length - 1 ? lookupCall(text) : `answer to ${text}`;
  });
  const agent = createAgent({
    model,
    tools: [lookup],
    middleware: [redisMemoryMiddleware({ memory })],
    checkpointer: new MemorySaver(),
  });
  const history = memory.history("ann");
  /** The texts of the parts of a run's stream of messages, and the last message of its state. */
  const ask = async (id: string, text = id) => {
    const messages = [new HumanMessage({ id, content: text })];
    const stream = await agent.stream({ messages }, { ...config, durability, streamMode: ["messages", "values"] });
    const parts: string[] = [];
    let state: BaseMessage[] = [];
    for await (const [mode, part] of stream) {
      if (mode === "messages") {
        const [message] = part as unknown as [BaseMessage, object];
        parts.push(message.getType() === "ai" ? message.text : "");
      } else {
        state = (part as { messages: BaseMessage[] }).messages;
      }
    }
    return { said: parts.join(""), last: state.at(-1)?.text, state };
  };
  return { ask, model, history, stored: async () => sketch(await history.getTranscript()) };
}

describe("an agent beside a checkpointer", () => {
  it.each([["one"], ["look it up"]])("streams the stored answer to %s that comes again", async (text) => {
    const { ask, model } = checkpointedAgent();
    const first = await ask("q1", text);
    const calls = model.sent.length;
    const again = await ask("q1", text);
    expect(again.said).toBe(`answer to ${text}`);
    expect(again.state.map(({ id }) => id)).toEqual(first.state.map(({ id }) => id));
    expect(model.sent).toHaveLength(calls);
  });

  it.each(["sync", "async"] as const)("answers an earlier question that comes again with its own (%s)", async (how) => {
    const { ask, model, stored } = checkpointedAgent(how);
    for (const id of ["q1", "q2", "q3"]) {
      await ask(id);
    }
    const before = await stored();
    for (const id of ["q1", "q2", "q3", "q1"]) {
      const { said, last } = await ask(id);
      expect([said, last]).toEqual([`answer to ${id}`, `answer to ${id}`]);
    }
    expect(model.sent).toHaveLength(3);
    expect(await stored()).toEqual(before);
  });

  it("answers an earlier question that was edited, and brings back nothing of what followed it", async () => {
    const { ask, model, history, stored } = checkpointedAgent();
    for (const id of ["q1", "look q2", "q3"]) {
      await ask(id);
    }
    await history.replaceFrom("look q2", [new HumanMessage({ id: "look q2", content: "look again" })]);
    const { said, last } = await ask("look q2", "look again");
    expect([said, last]).toEqual(["answer to look again", "answer to look again"]);
    expect(sketch(model.sent.at(-2)!)).toEqual(["q1", "answer to q1", "look again"]);
    expect(await stored()).toEqual([
      ...["q1", "answer to q1", "look again", "<ai>", "found look again", "answer to look again"],
    ]);
    await ask("q4");
    expect(sketch(model.sent.at(-1)!).slice(-2)).toEqual(["answer to look again", "q4"]);
  });
});

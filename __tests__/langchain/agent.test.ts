import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { tool as makeTool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { z } from "zod";
import { StructureError } from "../../src/base/errors.js";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { aiCalls, human } from "../support/messages.js";
import { ScriptedModel } from "../support/scripted-model.js";

/** A scripted model that an agent can bind tools to. */
class ToolModel extends ScriptedModel {
  override bindTools(): this {
    return this;
  }
}

const lookup = makeTool(({ query }: { query: string }) => `found ${query}`, {
  name: "lookup",
  schema: z.object({ query: z.string() }),
});
const ann = { configurable: { sessionId: "ann" } };

/** Looks something up once for each human message, then answers. */
function searchingModel(): ToolModel {
  return new ToolModel((messages) => {
    const last = messages.at(-1)!;
    const place = `${messages.length}`;
    return last.getType() === "human"
      ? new AIMessage({
          content: "",
          id: `call-${last.text}-${place}`,
          tool_calls: [{ id: `c-${last.text}`, name: "lookup", args: { query: last.text } }],
        })
      : new AIMessage({ content: `answer after ${last.text}`, id: `answer-${last.text}` });
  });
}

function newMemory() {
  const store = new InMemorySessionStore();
  const memory = new RedisChatMemory({ store });
  const kinds = async () =>
    (await memory.history("ann").getTranscript()).map((message: BaseMessage) => message.getType());
  return { store, memory, kinds };
}

describe("redisMemoryMiddleware", () => {
  it("keeps the steps of a request whole where the application's reducer splits one, and reports it", async () => {
    const failures: unknown[] = [];
    const memory = new RedisChatMemory({
      store: new InMemorySessionStore(),
      reducer: (messages: BaseMessage[]) =>
        messages.length < 3 ? null : messages.filter((message) => message.getType() !== "tool"),
      onEvent: (event) => event.type === "reduction_failed" && failures.push(event.error),
    });
    const model = searchingModel();
    const agent = createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] });
    const result = await agent.invoke({ messages: [new HumanMessage("one")] }, ann);
    expect(model.sent[1]!.map((message) => message.getType())).toEqual(["human", "ai", "tool"]);
    expect(result.messages.at(-1)!.text).toBe("answer after found one");
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.every((error) => StructureError.isInstance(error))).toBe(true);
  });

  it("repairs an interrupted tool call for the model, and stores it unchanged", async () => {
    const { memory, kinds } = newMemory();
    await memory.history("ann").addMessages([human("go"), aiCalls("c1")]);
    const model = new ToolModel(() => new AIMessage({ content: "here", id: "here" }));
    await createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] }).invoke(
      { messages: [human("still there?")] },
      ann,
    );
    expect(model.sent[0]!.map((message) => message.getType())).toEqual(["human", "ai", "tool", "human"]);
    expect(await kinds()).toEqual(["human", "ai", "human", "ai"]);
  });

  it("says what to do if the run names no session", async () => {
    const { memory } = newMemory();
    const agent = createAgent({
      model: searchingModel(),
      tools: [lookup],
      middleware: [redisMemoryMiddleware({ memory })],
    });
    await expect(agent.invoke({ messages: [human("one")] })).rejects.toMatchObject({ option: "sessionId" });
    expect(() => redisMemoryMiddleware({ memory: {} as never })).toThrow(expect.objectContaining({ option: "memory" }));
  });
});

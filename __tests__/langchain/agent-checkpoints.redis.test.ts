import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { lookup, lookupCall, sketch, ToolModel } from "../support/agents.js";
import { closeMemories, newMemory } from "../support/memories.js";

type Durability = "sync" | "async" | "exit";

const config = { configurable: { thread_id: "thread", sessionId: "ann" } };

afterEach(closeMemories);

/** Counts the reads of checkpoints. */
class CountedSaver extends MemorySaver {
  reads = 0;

  override getTuple(...args: Parameters<MemorySaver["getTuple"]>) {
    this.reads += 1;
    return super.getTuple(...args);
  }
}

const direct = tool(({ query }: { query: string }) => `directly ${query}`, {
  name: "direct",
  schema: z.object({ query: z.string() }),
  returnDirect: true,
});

/** An agent beside a checkpointer, whose model repeats what it was asked last and counts its answers. */
function checkpointedAgent({
  durability = "async",
  persist = "step",
}: { durability?: Durability; persist?: "turn" | "step" } = {}) {
  const memory = newMemory();
  const broken = { next: false };
  let answers = 0;
  const model = new ToolModel((messages) => {
    const asked = messages.findLastIndex((message) => message.getType() === "human");
    const { text } = messages[asked]!;
    if (broken.next) {
      return new Error("model is down");
    }
    if (asked === messages.length - 1 && text.startsWith("look")) {
      return lookupCall(text);
    }
    if (asked === messages.length - 1 && text.startsWith("direct")) {
      const { id = "", tool_calls: calls = [] } = lookupCall(text);
      return new AIMessage({ content: "", id, tool_calls: calls.map((call) => ({ ...call, name: "direct" })) });
    }
    answers += 1;
    return `answer ${answers} to ${text}`;
  });
  const checkpointer = new CountedSaver();
  const agent = createAgent({
    model,
    tools: [lookup, direct],
    middleware: [redisMemoryMiddleware({ memory, persist })],
    checkpointer,
  });
  const history = memory.history("ann");
  /** The texts of the parts of a run's stream of messages, and the last message of its state. */
  const ask = async (id: string, text = id, turnId?: string) => {
    const messages = [new HumanMessage({ id, content: text })];
    const configurable = { ...config.configurable, ...(turnId && { turnId }) };
    const stream = await agent.stream({ messages }, { configurable, durability, streamMode: ["messages", "values"] });
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
  const failing = async (id: string, text = id, turnId?: string) => {
    broken.next = true;
    await expect(ask(id, text, turnId)).rejects.toThrow("model is down");
    broken.next = false;
  };
  const stored = async () => sketch(await history.getTranscript());
  const idOf = async (text: string) => (await history.getTranscript()).find((message) => message.text === text)!.id!;
  return { ask, failing, memory, model, history, stored, idOf, checkpointer };
}

describe("an agent beside a checkpointer", () => {
  it.each([["one"], ["look it up"]])("streams the stored answer to %s that comes again", async (text) => {
    const { ask, model } = checkpointedAgent();
    const first = await ask("q1", text);
    const calls = model.sent.length;
    const again = await ask("q1", text);
    expect(again.said).toBe(`answer 1 to ${text}`);
    expect(again.state.map(({ id }) => id)).toEqual(first.state.map(({ id }) => id));
    expect(model.sent).toHaveLength(calls);
  });
});

/** Each value once; agent-checkpoints.property.redis.test.ts draws from all pairs. */
const settings = [
  { durability: "sync", persist: "turn" },
  { durability: "async", persist: "step" },
  { durability: "exit", persist: "step" },
] as const;

describe.each(settings)("an agent beside a checkpointer ($durability, $persist)", (setting) => {
  it("gives the answer that another process stored in the place of the one in the state", async () => {
    const { ask, history, stored, idOf, model, memory } = checkpointedAgent(setting);
    await ask("q1");
    await history.rewind(await idOf("answer 1 to q1"));
    const other = createAgent({
      model: new ToolModel(() => "better"),
      middleware: [redisMemoryMiddleware({ memory })],
    });
    await other.invoke({ messages: [new HumanMessage({ id: "q1", content: "q1" })] }, config);
    const { said, state } = await ask("q1");
    expect(said).toBe("better");
    expect(sketch(state)).toEqual(["q1", "better"]);
    expect(await stored()).toEqual(["q1", "better"]);
    expect(model.sent).toHaveLength(1);
  });
});

describe.each(settings)(
  "an agent beside a checkpointer whose newest question has no answer ($durability, $persist)",
  (setting) => {
    it("answers each of several without an answer, and a retry by the name of its turn", async () => {
      const { ask, failing, stored } = checkpointedAgent(setting);
      await failing("q1", "q1", "turn 1");
      await failing("q2", "look q2");
      expect((await ask("q3", "q1", "turn 1")).said).toBe("answer 1 to q1");
      expect((await ask("q2", "look q2")).said).toBe("answer 2 to look q2");
      const ofTwo = ["look q2", "<ai>", "found look q2", "answer 2 to look q2"];
      const last = setting.persist === "step" ? ["q1", "look q2", "answer 1 to q1", ...ofTwo.slice(1)] : undefined;
      expect(await stored()).toEqual(last ?? ["q1", "answer 1 to q1", ...ofTwo]);
    });

    it("sends a question that failed as the session holds it", async () => {
      const { ask, failing, model } = checkpointedAgent(setting);
      await failing("q1");
      await ask("q2");
      expect(sketch(model.sent.at(-1)!)).toEqual(setting.persist === "step" ? ["q1", "q2"] : ["q2"]);
    });

    it("reads no checkpoint more than LangGraph does", async () => {
      const { ask, checkpointer } = checkpointedAgent(setting);
      const readsOf = async (id: string) => {
        checkpointer.reads = 0;
        await ask(id);
        return checkpointer.reads;
      };
      const first = await readsOf("q1");
      expect([await readsOf("q2"), await readsOf("q1")]).toEqual([first, first]);
    });
  },
);

describe.each(settings)("a run beside a checkpointer ($durability, $persist)", ({ durability, persist }) => {
  it("answers all user messages of its input, also in a thread that ran before", async () => {
    const memory = newMemory();
    const model: ToolModel = new ToolModel(() => `answer ${model.sent.length}`);
    const middleware = [redisMemoryMiddleware({ memory, persist })];
    const agent = createAgent({ model, tools: [lookup], middleware, checkpointer: new MemorySaver() });
    const ask = (...texts: string[]) =>
      agent.invoke({ messages: texts.map((text) => new HumanMessage(text)) }, { ...config, durability });
    await ask("a page", "what does it say?");
    await ask("another one", "and this?");
    const said = ["a page", "what does it say?", "answer 1", "another one", "and this?", "answer 2"];
    expect(sketch(await memory.history("ann").getTranscript())).toEqual(said);
    expect(sketch(model.sent.at(-1)!)).toEqual(said.slice(0, -1));
  });
});

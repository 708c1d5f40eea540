import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, Command, MemorySaver } from "@langchain/langgraph";
import { type AgentMiddleware, createAgent, humanInTheLoopMiddleware } from "langchain";
import { z } from "zod";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { validateConversation } from "langchain-redis-memory/structure";
import fc from "fast-check";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { lookup, lookupCall, sketch, ToolModel } from "../support/agents.js";
import { newMemory } from "../support/memories.js";
import { threadKeys } from "../../src/store/redis/keys.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { ai, human } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";

type Durability = "sync" | "async" | "exit";

const config = { configurable: { thread_id: "thread", sessionId: "ann" } };

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

/** Each value once; the property below draws from all pairs. */
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
    await other.invoke({ messages: [human("q1", "q1")] }, config);
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
      agent.invoke({ messages: texts.map((text) => human(text)) }, { ...config, durability });
    await ask("a page", "what does it say?");
    await ask("another one", "and this?");
    const said = ["a page", "what does it say?", "answer 1", "another one", "and this?", "answer 2"];
    expect(sketch(await memory.history("ann").getTranscript())).toEqual(said);
    expect(sketch(model.sent.at(-1)!)).toEqual(said.slice(0, -1));
  });
});

const thread = { configurable: { thread_id: "ann" } };
const approve = new Command({ resume: { decisions: [{ type: "approve" }] } });

/** An agent that looks up what begins with "look", and asks for approval where it may. */
function newAgent(checkpointer: BaseCheckpointSaver, { isApproved = false } = {}) {
  const memory = newMemory();
  const model: ToolModel = new ToolModel((messages) => {
    const last = messages.at(-1)!;
    return last.text.startsWith("look") ? lookupCall(last.text) : ai(`answer ${model.sent.length}`);
  });
  const approval = humanInTheLoopMiddleware({ interruptOn: { lookup: true } });
  const middleware = [redisMemoryMiddleware({ memory }), ...(isApproved ? [approval] : [])] as AgentMiddleware[];
  const agent = createAgent({ model, tools: [lookup], middleware, checkpointer });
  const state = async () =>
    sketch(((await agent.graph.getState(thread)).values as { messages: BaseMessage[] }).messages);
  const ask = (text: string) => ({ messages: [human(text)] });
  return { agent, ask, model, state, transcript: async () => sketch(await memory.history("ann").getTranscript()) };
}

describe("A thread beside the memory", () => {
  const client = sharedClient();

  it.each(["sync", "async", "exit"] as const)("holds the last run only (%s)", async (durability) => {
    const { agent, ask, model, state, transcript } = newAgent(new MemorySaver());
    for (const text of ["look 1", "two", "look 3"]) {
      const { messages } = await agent.invoke(ask(text), { ...thread, durability });
      expect(messages[0]!.text).toBe(text);
    }
    const run = (name: string) => [name, "<ai>", `found ${name}`];
    expect(await state()).toEqual([...run("look 3"), "answer 5"]);
    expect(await transcript()).toEqual([...run("look 1"), "answer 2", "two", "answer 3", ...run("look 3"), "answer 5"]);
    expect(sketch(model.sent.at(-1)!)).toEqual((await transcript()).slice(0, -1));
  });

  it("holds no earlier run while one waits for a human", async () => {
    const { agent, ask, state, transcript } = newAgent(new MemorySaver(), { isApproved: true });
    await agent.invoke(ask("one"), thread);
    expect(await agent.invoke(ask("look 2"), thread)).toHaveProperty("__interrupt__");
    expect(await state()).toEqual(["look 2", "<ai>"]);
    const { messages } = await agent.invoke(approve, thread);
    expect(sketch(messages)).toEqual(["look 2", "<ai>", "found look 2", "answer 3"]);
    expect(await state()).toEqual(sketch(messages));
    expect(await transcript()).toEqual(["one", "answer 1", ...sketch(messages)]);
  });

  it("shows a page nothing of it: no removal among the streamed messages", async () => {
    const { agent, ask } = newAgent(new MemorySaver());
    await agent.invoke(ask("one"), thread);
    const types = new Set<string>();
    for await (const [message] of await agent.stream(ask("look 2"), { ...thread, streamMode: "messages" })) {
      types.add(message.getType());
    }
    expect([...types].sort()).toEqual(["ai", "tool"]);
  });

  it("does not grow with the conversation: RedisSaver holds a run", async () => {
    const keyPrefix = uniquePrefix();
    const saver = new RedisSaver({ client, keyPrefix, keep: 2 });
    const { agent, ask, transcript } = newAgent(saver);
    const items: number[] = [];
    for (let turn = 0; turn < 30; turn += 1) {
      await agent.invoke(ask(`look ${turn} ${"and on ".repeat(40)}`), { ...thread, durability: "sync" });
      items.push(await client.llen(threadKeys(keyPrefix, "ann").items));
    }
    expect(await transcript()).toHaveLength(120);
    // The run, those of the checkpoints that stay until old ones are dropped, and nothing older.
    expect(Math.max(...items)).toBeLessThan(30);
  });
});

const cases = (["step", "turn"] as const).flatMap((persist) =>
  (["MemorySaver", "RedisSaver"] as const).flatMap((saver) => [0, 1].map((whole) => [persist, saver, whole] as const)),
);

describe("an agent beside a checkpointer whose process died in its tools", () => {
  it.each(cases)(
    "answers the question that is asked again (%s, %s, whole steps: %i)",
    async (persist, saver, whole) => {
      const memory = newMemory();
      const checkpointer = saver === "MemorySaver" ? new MemorySaver() : new RedisSaver({ memory });
      let [calls, ids] = [0, 0];
      let died = () => {};
      const death = new Promise<void>((resolve) => (died = resolve));
      const work = (dies: boolean) =>
        tool(
          async () => {
            calls += 1;
            if (calls > whole && dies) {
              died();
              await new Promise(() => undefined);
            }
            return "worked";
          },
          { name: "work", schema: z.object({}) },
        );
      const requests: ToolModel["sent"][] = [];
      const run = (dies: boolean) => {
        const model: ToolModel = new ToolModel((messages) => {
          const results = messages.filter((message) => message.getType() === "tool").length;
          const call = () => ({ id: `c${(ids += 1)}`, name: "work", args: {}, type: "tool_call" as const });
          // The last step has two calls, of which none came back.
          const asked = results < whole ? [call()] : [call(), call()];
          return results > whole ? "done" : new AIMessage({ content: "", id: `ai${(ids += 1)}`, tool_calls: asked });
        });
        requests.push(model.sent);
        const middleware = [redisMemoryMiddleware({ memory, persist, oneTurnAtATime: false })];
        const agent = createAgent({ model, tools: [work(dies)], checkpointer, middleware });
        const configurable = { sessionId: "s", thread_id: "s", turnId: "t" };
        return agent.invoke({ messages: [human("hi", "q")] }, { configurable, durability: "sync" });
      };
      void run(true);
      await death;
      const { messages } = await run(false);
      const expected = ["hi", ...Array.from({ length: whole }, () => ["<ai>", "worked"]).flat()];
      expected.push("<ai>", "worked", "worked", "done");
      expect(sketch(messages)).toEqual(expected);
      expect(sketch(await memory.history("s").getTranscript())).toEqual(expected);
      const issues = requests.flat().map((sent) => validateConversation([...sent], { purpose: "model-input" }));
      expect(issues.flat().filter(({ severity }) => severity === "error")).toEqual([]);
    },
  );
});

type Persist = "turn" | "step";

/** What a client does: asks anew, or comes back to the question `of` its list, counted around. */
type Action = { readonly kind: "ask" | "retry" | "edit" | "regenerate"; of: number; steps: number; failsAt: number };

const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom("ask", "ask", "retry", "edit", "regenerate"),
  of: fc.nat(3),
  steps: fc.nat(2),
  /** The model's call that fails; mostly none does. */
  failsAt: fc.constantFrom(0, 1, 2, 9, 9, 9, 9),
});

/** A client of an agent, with or without a checkpointer. Its model counts its answers. */
function newClient(persist: Persist, durability: Durability | undefined) {
  const memory = newMemory();
  const history = memory.history("ann");
  let [calls, failsAt, answers] = [0, 9, 0];
  const model = new ToolModel((messages) => {
    calls += 1;
    if (calls > failsAt) {
      return new Error("model is down");
    }
    const asked = messages.findLastIndex((message) => message.getType() === "human");
    const { text } = messages[asked]!;
    if (messages.length - 1 - asked < 2 * text.split("step").length - 2) {
      return lookupCall(text);
    }
    answers += 1;
    return `answer ${answers} to ${text}`;
  });
  const agent = createAgent({
    model,
    tools: [lookup],
    middleware: [redisMemoryMiddleware({ memory, persist })],
    ...(durability && { checkpointer: new MemorySaver() }),
  });
  const config = { configurable: { thread_id: "thread", sessionId: "ann" }, ...(durability && { durability }) };
  const texts = new Map<string, string>();
  const run = async (id: string) => {
    const question = new HumanMessage({ id, content: texts.get(id)! });
    try {
      const { messages } = await agent.invoke({ messages: [question] }, config);
      return messages.at(-1)!.text;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const edit = async (id: string, text: string) => {
    texts.set(id, text);
    const isStored = (await history.getTranscript()).some((message) => message.id === id);
    await (isStored ? history.replaceFrom(id, [new HumanMessage({ id, content: text })]) : undefined);
  };
  const takeBack = async (id: string) => {
    const log = await history.getTranscript();
    const behind = log.slice(log.findIndex((message) => message.id === id) + 1);
    const next = behind.findIndex((message) => message.getType() === "human");
    const answer = (next < 0 ? behind : behind.slice(0, next)).at(-1);
    const isWhole = answer instanceof AIMessage && answer.text !== "";
    await (isWhole && log.length > behind.length ? history.rewind(answer.id!) : undefined);
  };
  /** What a client was told, and what is stored then. */
  const act = async ({ kind, of, steps, failsAt: at }: Action, index: number) => {
    const known = [...texts.keys()].at(-1 - (of % Math.max(1, texts.size)));
    const id = kind === "ask" ? `q${index}` : (known ?? `q${index}`);
    const text = `${id}${" step".repeat(steps)} (${index})`;
    if (id !== known || kind === "ask") {
      texts.set(id, text);
    } else if (kind === "edit") {
      await edit(id, text);
    } else if (kind === "regenerate") {
      await takeBack(id);
    }
    // With "turn" the steps of a run that failed are only in the checkpointer's state, from which the next try goes on.
    [calls, failsAt] = [0, persist === "turn" && at < 9 ? 0 : at];
    return { said: await run(id), stored: sketch(await history.getTranscript()) };
  };
  return { act };
}

it("an agent stores and says beside a checkpointer what it does without one", async () => {
  const settings = fc.record({
    persist: fc.constantFrom<Persist>("turn", "step"),
    durability: fc.constantFrom<Durability>("sync", "async", "exit"),
  });
  await fc.assert(
    fc.asyncProperty(settings, fc.array(action, { maxLength: 8 }), async ({ persist, durability }, actions) => {
      const [alone, data] = [newClient(persist, undefined), newClient(persist, durability)];
      for (const [index, one] of actions.entries()) {
        expect(await data.act(one, index)).toEqual(await alone.act(one, index));
      }
    }),
    { numRuns: propertyRuns(15) },
  );
});

import type { AIMessage } from "@langchain/core/messages";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { tool as makeTool } from "@langchain/core/tools";
import {
  ClearToolUsesEdit,
  contextEditingMiddleware,
  createAgent,
  humanInTheLoopMiddleware,
  modelCallLimitMiddleware,
  piiMiddleware,
  summarizationMiddleware,
  type AgentMiddleware,
} from "langchain";
import { z } from "zod";
import { StructureError } from "../../src/base/errors.js";
import { redisMemoryMiddleware, type RedisMemoryMiddlewareOptions } from "../../src/doors/agent/middleware.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { lookup, lookupCall, sketch, SlowModel, stepsModel, ToolModel } from "../support/agents.js";
import { events, newMemory } from "../support/memories.js";
import { ai, human } from "../support/messages.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

const ann = { configurable: { sessionId: "ann" } };
const named = (turnId: string) => ({ configurable: { sessionId: "ann", turnId } });
const transcript = async (memory: RedisChatMemory) => sketch(await memory.history("ann").getTranscript());

/** Answers with a number that counts the model's calls, after one tool step where asked to "look". */
function countingModel(): ToolModel {
  const model: ToolModel = new ToolModel((messages) => {
    const last = messages.at(-1)!;
    return last.text.startsWith("look") ? lookupCall(last.text) : `answer ${model.sent.length}`;
  });
  return model;
}

function newAgent(
  memory: RedisChatMemory,
  model: ToolModel = countingModel(),
  {
    others = [],
    ...options
  }: Partial<RedisMemoryMiddlewareOptions> & { readonly others?: readonly AgentMiddleware[] } = {},
) {
  const middleware = [redisMemoryMiddleware({ memory, ...options }), ...others];
  return { model, agent: createAgent({ model, tools: [lookup], middleware }) };
}

const ask = (text: string, id?: string) => ({
  messages: [new HumanMessage({ content: text, ...(id !== undefined && { id }) })],
});

describe.each(["step", "turn"] as const)("an agent's turn with persist: %s", (persist) => {
  it("stores what piiMiddleware made of it, and the run does not fail", async () => {
    const memory = newMemory();
    const others = [piiMiddleware("email", { strategy: "redact", applyToInput: true })] as AgentMiddleware[];
    const { agent, model } = newAgent(memory, countingModel(), { persist, others });
    await agent.invoke(ask("mail me at ann@example.org"), ann);
    expect(JSON.stringify(await memory.history("ann").getTranscript())).not.toContain("ann@");
    expect(JSON.stringify(model.sent)).not.toContain("ann@");
  });
});

describe("an agent's turn whose run fails", () => {
  it("goes on from its finished steps with persist: step, for the same message id or turnId", async () => {
    for (const [input, config] of [
      [ask("look", "q1"), ann],
      [ask("look"), named("job-1")],
    ] as const) {
      const memory = newMemory();
      let isDown = true;
      const model = new ToolModel((messages) => {
        const isFirst = messages.at(-1)!.getType() === "human";
        return isFirst ? lookupCall("it") : isDown ? new Error("model is down") : "at last";
      });
      const { agent } = newAgent(memory, model);
      await expect(agent.invoke(input, config)).rejects.toThrow("model is down");
      expect(await transcript(memory)).toEqual(["look", "<ai>", "found it"]);
      isDown = false;
      const { messages } = await agent.invoke(input, config);
      expect(sketch(messages)).toEqual(["look", "<ai>", "found it", "at last"]);
      expect(model.sent).toHaveLength(3);
      expect(await transcript(memory)).toEqual(["look", "<ai>", "found it", "at last"]);
    }
  });

  it("keeps in the view what others wrote between its parts, also where its loop reduced", async () => {
    // It has something to do when the loop is under way.
    const reducer = (messages: BaseMessage[]) =>
      messages.some(({ text }) => text === "found look") ? messages.filter(({ text }) => text !== "before") : messages;
    const memory = newMemory({ reducer });
    await memory.history("ann").addMessages([human("before"), human("first")]);
    let calls = 0;
    const model = new ToolModel(() => {
      calls += 1;
      return calls === 1 ? new Error("down") : calls === 2 ? lookupCall("look") : "found it";
    });
    const { agent } = newAgent(memory, model);
    await expect(agent.invoke(ask("look", "q1"), ann)).rejects.toThrow("down");
    await memory.history("ann").addMessages([human("between"), ai("said between")]);
    await agent.invoke(ask("look", "q1"), ann);
    const view = sketch(await memory.history("ann").getMessages());
    expect(view).toEqual(["first", "look", "<ai>", "found look", "found it", "between", "said between"]);
  });

  it("keeps its step whole in its request where the application's reducer splits it, and reports that", async () => {
    const reducer = (messages: BaseMessage[]) =>
      messages.length < 3 ? null : messages.filter((message) => message.getType() !== "tool");
    const { agent, model } = newAgent(newMemory({ reducer }));
    const { messages } = await agent.invoke(ask("look"), ann);
    expect([sketch(model.sent[1]!), messages.at(-1)!.text]).toEqual([["look", "<ai>", "found look"], "answer 2"]);
    const failures = events.flatMap((event) => (event.type === "reduction_failed" ? [event.error] : []));
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.every((error) => StructureError.isInstance(error))).toBe(true);
  });
});

describe("an agent that names no session or no memory", () => {
  it("is refused with the option that is missing", async () => {
    await expect(newAgent(newMemory()).agent.invoke(ask("one"))).rejects.toMatchObject({ option: "sessionId" });
    expect(() => redisMemoryMiddleware({ memory: {} as never })).toThrow(expect.objectContaining({ option: "memory" }));
  });
});

describe("an agent beside a checkpointer", () => {
  const thread = { configurable: { thread_id: "ann" } };

  it("sends and stores nothing twice, also after reductions, clear() and rewind()", async () => {
    const memory = newMemory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 4 }) });
    const model = countingModel();
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model, tools: [lookup], middleware, checkpointer: new MemorySaver() });
    for (let index = 1; index <= 5; index += 1) {
      await agent.invoke(ask(`q${index}`), thread);
    }
    expect(sketch(model.sent.at(-1)!)).toEqual(["q3", "answer 3", "q4", "answer 4", "q5"]);
    expect(await transcript(memory)).toHaveLength(10);
    await memory.history("ann").clear();
    await agent.invoke(ask("q6"), thread);
    expect(sketch(model.sent.at(-1)!)).toEqual(["q6"]);
    expect(await transcript(memory)).toEqual(["q6", "answer 6"]);
    await memory.history("ann").rewind((await memory.history("ann").getTranscript())[0]!.id!);
    await agent.invoke(ask("q7"), thread);
    expect(await transcript(memory)).toEqual(["q7", "answer 7"]);
  });
});

describe("an agent's streams and state", () => {
  it("show no history and no field of the memory, in any mode", async () => {
    const memory = newMemory();
    await memory.history("ann").append([human("earlier"), ai("long ago")]);
    const { agent, model } = newAgent(memory);
    const streamMode = ["values", "updates", "messages", "debug", "tasks", "checkpoints"] as never;
    const chunks: unknown[] = await all(await agent.stream(ask("look"), { ...ann, streamMode }));
    expect(sketch(model.sent[0]!)).toEqual(["earlier", "long ago", "look"]);
    expect(JSON.stringify(chunks)).not.toMatch(/earlier|long ago|_memory/);
  });
});

describe("a long loop of an agent", () => {
  it.each(["step", "turn"] as const)(
    "stays within the reducer's limit, and pays for each summary once (persist: %s)",
    async (persist) => {
      const summaries = new ToolModel(() => `summary ${summaries.sent.length}`);
      const options = { model: summaries, targetCount: 6, thresholdCount: 4 };
      const reducer = new ChatHistorySummarizationReducer(options);
      const memory = newMemory({ reducer, reduceWhen: "always" });
      const { agent, model } = newAgent(memory, stepsModel(12), { persist });
      const { messages } = await agent.invoke(ask("go"), { ...ann, recursionLimit: 60 });
      expect(messages).toHaveLength(26);
      expect(Math.max(...model.sent.map(({ length }) => length))).toBeLessThanOrEqual(10);
      for (const sent of model.sent) {
        const issues = validateConversation(sent, { profile: "openai" });
        expect(issues.filter(({ severity }) => severity === "error")).toEqual([]);
      }
      expect(summaries.sent).toHaveLength(4);
      expect(await transcript(memory)).toHaveLength(26);
      const view = await memory.history("ann").getMessages();
      expect(sketch(view).at(-1)).toBe("done");
      // The summary does not count in the target.
      expect(view.length).toBeLessThanOrEqual(11);
      expect(sketch(view).join()).toContain("summary 4");
    },
  );
});

describe("an agent that another middleware ends, pauses or edits", () => {
  const looping = () => new ToolModel(() => lookupCall("again"));

  it("loses with persist: step what modelCallLimitMiddleware adds, with persist: turn all", async () => {
    for (const persist of ["step", "turn"] as const) {
      const memory = newMemory();
      const others = [modelCallLimitMiddleware({ runLimit: 2, exitBehavior: "end" })] as AgentMiddleware[];
      const { agent } = newAgent(memory, looping(), { persist, others, oneTurnAtATime: { holdMs: 300 } });
      await agent.invoke(ask("go", "q1"), ann);
      // The next turn waits until the hold has lapsed.
      await memory.withTurn("ann", () => undefined);
      expect(await transcript(memory)).toHaveLength(persist === "step" ? 5 : 0);
    }
  });

  it("stores nothing twice when another instance resumes an interrupt, and stores what a human edited", async () => {
    const keyPrefix = uniquePrefix();
    const checkpointer = new MemorySaver();
    const build = () => {
      const memory = newMemory({ redis: { keyPrefix } });
      const ask = humanInTheLoopMiddleware({
        interruptOn: { lookup: { allowedDecisions: ["approve", "edit", "reject"] } },
      });
      const model = new ToolModel((messages) => {
        const last = messages.at(-1)!;
        return last.getType() === "human" ? lookupCall(last.text) : `answer to ${last.text}`;
      });
      const middleware = [redisMemoryMiddleware({ memory }), ask];
      return { memory, model, agent: createAgent({ model, tools: [lookup], middleware, checkpointer }) };
    };
    const thread = { configurable: { thread_id: "ann" } };
    const first = build();
    await first.agent.invoke(ask("one"), thread);
    expect(await transcript(first.memory)).toEqual(["one"]);
    const edited = { type: "edit", editedAction: { name: "lookup", args: { query: "edited" } } };
    const second = build();
    await second.agent.invoke(new Command({ resume: { decisions: [edited] } }), thread);
    expect(await transcript(first.memory)).toEqual(["one", "<ai>", "found edited", "answer to found edited"]);
    const stored = await first.memory.history("ann").getTranscript();
    expect((stored[1] as AIMessage).tool_calls![0]!.args).toEqual({ query: "edited" });
    expect(sketch(second.model.sent[0]!)).toEqual(["one", "<ai>", "found edited"]);
    await first.agent.invoke(ask("two"), thread);
    await second.agent.invoke(new Command({ resume: { decisions: [{ type: "reject", message: "no" }] } }), thread);
    expect(await transcript(first.memory)).toHaveLength(8);
  });

  it("stores none of the messages of summarizationMiddleware", async () => {
    for (const checkpointer of [undefined, new MemorySaver()]) {
      const memory = newMemory();
      const model = countingModel();
      const writer = new ToolModel(() => "A SUMMARY");
      const summaries = summarizationMiddleware({ model: writer, trigger: { messages: 4 }, keep: { messages: 2 } });
      const middleware = [redisMemoryMiddleware({ memory }), summaries] as AgentMiddleware[];
      const agent = createAgent({ model, tools: [lookup], middleware, ...(checkpointer && { checkpointer }) });
      for (let index = 1; index <= 6; index += 1) {
        await agent.invoke(ask(`q${index}`), { configurable: { thread_id: "ann" } });
      }
      expect(await transcript(memory)).toHaveLength(12);
      expect(JSON.stringify(await memory.history("ann").getTranscript())).not.toContain("SUMMARY");
      expect(sketch(model.sent.at(-1)!)).toHaveLength(11);
    }
  });

  it("shows what contextEditingMiddleware clears for one request, and stores the original", async () => {
    const memory = newMemory();
    const edits = [
      new ClearToolUsesEdit({ trigger: { messages: 4 }, keep: { messages: 1 }, placeholder: "[cleared]" }),
    ];
    const { agent, model } = newAgent(memory, stepsModel(4), {
      others: [contextEditingMiddleware({ edits })] as AgentMiddleware[],
    });
    await agent.invoke(ask("go"), ann);
    expect(sketch(model.sent.at(-1)!)).toContain("[cleared]");
    expect(await transcript(memory)).toHaveLength(10);
    expect(await transcript(memory)).not.toContain("[cleared]");
  });
});

describe("an agent that is stopped", () => {
  /** Streams words slowly until it is stopped. */
  const slowModel = () => new SlowModel(["one ", "two ", "three ", "four ", "five "]);

  it.each([
    ["discard", "step", ["q"]],
    ["discard", "turn", []],
    ["keep", "step", ["q", "one two "]],
    ["keep", "turn", ["q", "one two "]],
  ] as const)("with onAbort: %s and persist: %s leaves what was said so far or not", async (onAbort, persist, left) => {
    for (const how of ["signal", "cancel"] as const) {
      const memory = newMemory();
      const model = slowModel();
      const { agent } = newAgent(memory, model, { onAbort, persist });
      const controller = new AbortController();
      const stream = await agent.stream(ask("q", "q1"), { ...ann, streamMode: "messages", signal: controller.signal });
      let ended!: () => void;
      model.onWord = (word) => {
        if (word === "two ") {
          // The next word waits for the end of the run.
          model.pause = new Promise<void>((resolve) => (ended = resolve));
          setTimeout(() => void (how === "signal" ? controller.abort() : stream.cancel().catch(() => undefined)), 5);
        }
      };
      const reading = all(stream);
      await reading.catch(() => undefined);
      while ((await transcript(memory)).length < left.length) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      ended();
      await memory.drain();
      expect(await transcript(memory)).toEqual(left);
      const stored = await memory.history("ann").getTranscript();
      expect(
        stored.some((message) => (message.response_metadata as Record<string, unknown>)["interrupted"] === true),
      ).toBe(onAbort === "keep");
    }
  });
});

describe("a subagent with a memory", () => {
  const delegate = (memory: RedisChatMemory, options: Partial<RedisMemoryMiddlewareOptions>) => {
    const inner = newAgent(memory, new ToolModel(() => "inner answer"), options).agent;
    const tool = makeTool(
      async ({ query }: { query: string }) => (await inner.invoke(ask(query))).messages.at(-1)!.text,
      {
        name: "lookup",
        schema: z.object({ query: z.string() }),
      },
    );
    const middleware = [redisMemoryMiddleware({ memory })];
    return createAgent({ model: countingModel(), tools: [tool], middleware });
  };

  it("keeps its own session by the option sessionId, and ignores the parent's turnId", async () => {
    const memory = newMemory();
    const agent = delegate(memory, { sessionId: "inner" });
    await agent.invoke(ask("look"), named("job-1"));
    expect(await transcript(memory)).toEqual(["look", "<ai>", "inner answer", "answer 2"]);
    expect(sketch(await memory.history("inner").getTranscript())).toEqual(["look", "inner answer"]);
  });

  it("is refused without the option, so that it never writes into the parent's session", async () => {
    const memory = newMemory();
    const warned = jest.spyOn(process, "emitWarning").mockImplementation();
    const agent = delegate(memory, {});
    for (const question of ["look", "look again"]) {
      const { messages } = await agent.invoke(ask(question), ann);
      expect(messages[2]!.text).toMatch(/inside a tool of another agent/);
    }
    expect(await transcript(memory)).toHaveLength(8);
    // The model reads the error of a tool; the developer is told besides.
    expect(warned).toHaveBeenCalledTimes(2);
    warned.mockRestore();
  });
});

describe("the session of an agent", () => {
  it("is named by a function of the context, which a schema types", async () => {
    const memory = newMemory();
    const middleware = redisMemoryMiddleware({
      memory,
      contextSchema: z.object({ user: z.string() }),
      sessionId: ({ context }) => context?.user,
    });
    const agent = createAgent({ model: countingModel(), tools: [lookup], middleware: [middleware] });
    await agent.invoke(ask("q"), { context: { user: "ann" } });
    expect(await transcript(memory)).toEqual(["q", "answer 1"]);
  });
});

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { IterableReadableStream } from "@langchain/core/utils/stream";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { z } from "zod";
import { InMemorySessionStore, RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { lookup, lookupCall, sketch, stepsModel, ToolModel } from "../support/agents.js";
import { human } from "../support/messages.js";

const config = (turnId: string) => ({ configurable: { sessionId: "ann", turnId } });
const whole = ["look", "<ai>", "found look", "one two three"];

/** A chain of an agent that looks something up. */
function agentChain() {
  const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
  const model: ToolModel = new ToolModel((messages) => {
    const last = messages.at(-1)!;
    return last.getType() === "human" ? lookupCall(last.text) : new AIMessage("one two three");
  });
  const agent = createAgent({ model, tools: [lookup] });
  const chain = withRedisMemory(agent, { memory, inputMessagesKey: "messages" });
  const stored = async () => {
    await memory.drain();
    return sketch(await memory.history("ann").getTranscript());
  };
  return { agent, chain, model, stored };
}

const single = [undefined, "values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"];
const lists = [
  ["values"],
  ["updates"],
  ["messages"],
  ["messages", "updates"],
  ["updates", "values"],
  ["custom", "messages", "debug"],
  ["custom"],
  ["debug", "tasks"],
  ["values", "messages", "updates", "tasks"],
];
const forms = [...single, ...lists].flatMap((streamMode) =>
  [undefined, true].map((subgraphs) => ({
    ...(streamMode !== undefined && { streamMode }),
    ...(subgraphs && { subgraphs }),
  })),
);

describe("the stream of a chain over an agent", () => {
  it.each(forms)("stores what invoke stores, and gives it again in the same form (%j)", async (form) => {
    const { agent, chain, model, stored } = agentChain();
    const ask = async (runnable: Pick<typeof chain, "stream"> = chain) => {
      const chunks: unknown[] = [];
      const stream = await runnable.stream({ messages: [human("look")] }, { ...config("t"), ...form } as never);
      for await (const chunk of stream as AsyncIterable<unknown>) {
        chunks.push(chunk);
      }
      return chunks;
    };
    const shapes = (chunks: readonly unknown[]) => chunks.map((chunk) => Object.keys(chunk as object));
    expect(shapes(await ask())).toEqual(shapes(await ask(agent as never)));
    model.sent.length = 2;
    expect(await stored()).toEqual(whole);
    const [chunk, ...more] = await ask();
    const length = 1 + (Array.isArray(form.streamMode) ? 1 : 0) + (form.subgraphs === true ? 1 : 0);
    const output = (length === 1 ? chunk : (chunk as unknown[])[length - 1]) as { messages: BaseMessage[] };
    expect([length === 1 || (chunk as unknown[]).length === length, more]).toEqual([true, []]);
    expect(output.messages.at(-1)!.text).toBe("one two three");
    expect([model.sent.length, await stored()]).toEqual([2, whole]);
  });

  it("stores the state of a graph that tells no mode of its own, as a remote one, and shows its updates", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    const graph = Object.assign(new RunnableLambda({ func: () => ({ messages: [] }) }), {
      lg_is_pregel: true,
      async stream(_: unknown, { streamMode }: { streamMode: readonly string[] }) {
        const parts = { updates: { model: { messages: [] } }, values: { messages: [new AIMessage("yes")] } };
        return IterableReadableStream.fromAsyncGenerator(
          (async function* () {
            yield* streamMode.map((mode) => [mode, parts[mode as "updates"]]);
          })(),
        );
      },
    });
    const chain = withRedisMemory(graph as never, { memory, inputMessagesKey: "messages" });
    const chunks: unknown[] = [];
    for await (const chunk of await chain.stream({ messages: [human("look")] } as never, config("t"))) {
      chunks.push(chunk);
    }
    expect(chunks).toEqual([{ model: { messages: [] } }]);
    expect(sketch(await memory.history("ann").getTranscript())).toEqual(["look", "yes"]);
  });
});

describe("a finished step of an agent in a chain", () => {
  const newMemory = () => new RedisChatMemory({ store: new InMemorySessionStore() });
  const looping = (persist: "step" | "turn", { fails = false } = {}) => {
    const memory = newMemory();
    const history = memory.history("ann");
    const seen: string[][] = [];
    const model: ToolModel = new ToolModel(async () => {
      seen.push(sketch(await history.getTranscript()));
      if (fails && seen.length === 3) {
        return new Error("ECONNRESET");
      }
      return seen.length < 3 ? lookupCall(`step ${seen.length}`) : "done";
    });
    const chain = withRedisMemory(createAgent({ model, tools: [lookup] }), { memory, persist });
    return { chain, model, history, seen };
  };
  const first = ["look", "<ai>", "found step 1"];
  const steps = [...first, "<ai>", "found step 2"];
  const asked = { messages: [human("look", "q")] };

  it.each(["invoke", "stream"] as const)("is stored before the model is asked again (%s)", async (call) => {
    const { chain, history, seen } = looping("step");
    const output = await chain[call](asked, config("t"));
    for await (const _ of call === "stream" ? (output as AsyncIterable<unknown>) : []) {
      // Read to its end.
    }
    expect(seen).toEqual([["look"], first, steps]);
    expect(sketch(await history.getTranscript())).toEqual([...steps, "done"]);
  });

  it("is stored with the answer alone with persist: turn", async () => {
    const { chain, history, seen } = looping("turn");
    await chain.invoke(asked, config("t"));
    expect(seen).toEqual([[], [], []]);
    expect(sketch(await history.getTranscript())).toEqual([...steps, "done"]);
  });

  it("of an agent in its tool is that agent's", async () => {
    const memory = newMemory();
    const inner = createAgent({ model: stepsModel(1), tools: [lookup] });
    const delegate = tool(async () => (await inner.invoke(asked)).messages.at(-1)!.text, {
      ...{ name: "lookup", schema: z.object({ query: z.string() }) },
    });
    const chain = withRedisMemory(createAgent({ model: stepsModel(1), tools: [delegate] }), { memory });
    await chain.invoke(asked, config("t"));
    expect(sketch(await memory.history("ann").getTranscript())).toEqual(["look", "<ai>", "done", "done"]);
  });
});

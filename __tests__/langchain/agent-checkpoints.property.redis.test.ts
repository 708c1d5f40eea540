import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import fc from "fast-check";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { lookup, lookupCall, sketch, ToolModel } from "../support/agents.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { propertyRuns } from "../support/property-runs.js";

afterEach(closeMemories);

type Persist = "turn" | "step";
type Durability = "sync" | "async" | "exit";

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

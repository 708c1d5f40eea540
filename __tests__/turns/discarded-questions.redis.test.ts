import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { writeTurn } from "../../src/memory/session/append-input.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sketch, ToolModel } from "../support/agents.js";
import { events, newMemory } from "../support/memories.js";
import { doors } from "./asking.js";

const question = (id: string) => new HumanMessage({ content: "look", id });
const call = new AIMessage({
  content: "",
  id: "call",
  tool_calls: [{ id: "c1", name: "lookup", args: { query: "x" }, type: "tool_call" }],
});
const result = new ToolMessage({ content: "found x", id: "result", tool_call_id: "c1" });
const stopped = new AIMessage({ content: "It is", id: "stopped", response_metadata: { interrupted: true } });

/** Answers by what it is shown, so that a call that lacks the question or the step shows. */
const newModel = () => new ToolModel((messages) => sketch(messages).join(" | "));

const askers = ["a chain (step)", "a chain (turn)", "an agent (step)", "an agent (turn)", "a HistoryManager"] as const;

/** A session of which somebody else's reducer left only the end, and discarded the rest. */
async function memoryWith(turn: readonly BaseMessage[], left: number) {
  const reducer = RunnableLambda.from((messages: BaseMessage[]) => messages.slice(messages.length - left));
  const memory = newMemory({ reducer, retention: "discard", reduceWhen: "never" });
  const history = memory.history("s");
  await writeTurn(history, turn, { turnId: "job", turn: { done: false } });
  await history.reduceView();
  return memory;
}

const retries = [
  ["the same id", "q1"],
  ["another id", "q2"],
] as const;

describe.each(askers)("a turn whose question was discarded, by %s", (door) => {
  /** The log behind a retry, which a second one leaves as it is. */
  async function retried(memory: RedisChatMemory, id: string) {
    const log = async () => sketch(await memory.history("s").getTranscript());
    const ask = () => doors[door](memory, newModel(), { input: [question(id)], turnId: "job" });
    await ask();
    const stored = await log();
    await ask();
    expect(await log()).toEqual(stored);
    expect(events.filter(({ type }) => type === "turn_not_stored")).toEqual([]);
    return stored;
  }

  it.each(retries)("goes on behind the step that is left, where a retry brings the question with %s", async (_, id) => {
    const memory = await memoryWith([question("q1"), call, result], 2);
    expect(await retried(memory, id)).toEqual(["<ai>", "found x", "look | <ai> | found x"]);
  });

  it.each(retries)("gets its answer in the place of the interrupted one, where a retry brings %s", async (_, id) => {
    expect(await retried(await memoryWith([question("q1"), stopped], 1), id)).toEqual(["look"]);
  });

  it.each(retries)("is done again where nothing is left of it and a retry brings %s", async (_, id) => {
    // A known id says that the question was stored, and so it is not stored again.
    const isKnown = id === "q1" && door !== "a HistoryManager";
    const memory = await memoryWith([question("q1"), call, result], 0);
    expect(await retried(memory, id)).toEqual(isKnown ? ["look"] : ["look", "look"]);
  });
});

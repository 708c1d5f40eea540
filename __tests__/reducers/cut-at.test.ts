import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import fc from "fast-check";
import {
  approximateCounter,
  type ChatHistoryReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryTruncationReducer,
} from "../../src/entries/index.js";
import { roleOf } from "../../src/conversation/messages/message.js";
import { splitsStep } from "../../src/conversation/messages/steps.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";

/** A turn of steps, each a call and its result; the first may think, and the last step may be open. */
function turn(name: string, steps: number, { thinks = false, ends = true } = {}): BaseMessage[] {
  const ids = Array.from({ length: steps }, (_, step) => `${name}${step}`);
  const messages = ids.flatMap((id, step) => {
    const call = aiCalls(id);
    const content = [{ type: "thinking", thinking: "hm", signature: "s" }];
    const thinking = new AIMessage({ content: content as never, tool_calls: call.tool_calls ?? [] });
    return [thinks && step === 0 ? thinking : call, tool(id)];
  });
  return [human(name), ...messages, ...(ends ? [ai(`answer to ${name}`)] : [])];
}

const tokenCounter = approximateCounter();
const summarizer = () => new FakeListChatModel({ responses: ["A summary."] });
const reducers: Record<string, () => ChatHistoryReducer> = {
  truncation: () => new ChatHistoryTruncationReducer({ targetCount: 6 }),
  tokens: () => new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter }),
  summary: () => new ChatHistorySummarizationReducer({ model: summarizer(), targetCount: 6, thresholdCount: 0 }),
};

const withoutSummary = (messages: readonly BaseMessage[]) =>
  messages.filter((message) => roleOf(message) !== "summary");

describe.each(Object.keys(reducers))("where the reducer may cut: %s", (name) => {
  const old = turn("a", 3);

  it("is between steps, also inside of an older turn that thinks", async () => {
    const kept = await reducers[name]!().invoke([...turn("a", 5, { thinks: true }), ...turn("b", 0)]);
    expect(kept.length).toBeGreaterThan(2);
  });

  it("is not inside of the newest turn where a thought in it is signed, up to the hard limit", async () => {
    const steps = name === "tokens" ? 2 : 4;
    const goingOn = turn("b", steps, { thinks: true, ends: false });
    const kept = await reducers[name]!().invoke([...old, ...goingOn]);
    expect(kept.slice(-goingOn.length)).toEqual(goingOn);
    expect(withoutSummary(kept)[0]).toBe(goingOn[0]);
    const long = turn("b", 20, { thinks: true, ends: false });
    expect((await reducers[name]!().invoke([...old, ...long])).length).toBeLessThan(15);
  });
});

it("never splits a step, whatever it keeps whole", async () => {
  const turns = fc.array(fc.record({ steps: fc.nat(5), thinks: fc.boolean() }), { minLength: 1, maxLength: 5 });
  const options = fc.record({
    turns,
    ends: fc.boolean(),
    name: fc.constantFrom("truncation", "tokens"),
  });
  await fc.assert(
    fc.asyncProperty(options, async ({ turns: given, ends, name }) => {
      const messages = given.flatMap(({ steps, thinks }, index) =>
        turn(`t${index}_`, steps, { thinks, ends: ends || index < given.length - 1 }),
      );
      const outcome = await reducers[name]!().reduceWithOutcome(messages);
      expect(splitsStep({ before: messages, after: outcome.messages })).toBe(false);
      expect((await reducers[name]!().reduceWithOutcome(outcome.messages)).changed).toBe(false);
    }),
    { numRuns: propertyRuns(200) },
  );
});

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { findOrphanResults } from "../../src/conversation/messages/content.js";
import { splitsStep, stepsOf } from "../../src/conversation/messages/steps.js";
import { asReducer } from "../../src/conversation/reducers/as-reducer.js";
import type { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { ChatHistoryToolResultReducer } from "../../src/conversation/reducers/tool-result-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { CountingCounter } from "../support/counting-counter.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";

const many = <T>(count: number, make: (index: number) => T[]): T[] =>
  Array.from({ length: count }, (_, index) => make(index)).flat();

// If a step were looked for again for each message, the first would take hours and not a second.
const shapes: [string, () => BaseMessage[]][] = [
  [
    "40,000 messages of one round of many steps",
    () => [human("do it"), ...many<BaseMessage>(20_000, (index) => [aiCalls(`c${index}`), tool(`c${index}`)])],
  ],
  ["one id over and over", () => many<BaseMessage>(10_000, () => [aiCalls("c"), tool("c")])],
  [
    "one call with all results",
    () => [
      aiCalls(...many(20_000, (index) => [`c${index}`])),
      ...many(20_000, (index) => [tool(`c${index}`)]),
      human("next"),
    ],
  ],
  [
    "calls first, results last",
    () => [
      ...many(10_000, (index) => [aiCalls(`c${index}`)]),
      ...many(10_000, (index) => [tool(`c${9_999 - index}`)]),
      human("next"),
    ],
  ],
  ["one system message with each", () => many<BaseMessage>(10_000, () => [system("S"), ai("x")])],
  ["human messages alone", () => many(20_000, () => [human("x")])],
];

describe("long conversations", () => {
  it.each(shapes)("%s: cut by count and by tokens, with each message counted once", async (_, make) => {
    const messages = make();
    const tokenCounter = new CountingCounter();
    // The cut alone: a trimmer's `invoke` also fills in a first question where there is none.
    const cut = async (reducer: ChatHistoryReducer) => (await reducer.reduce(messages)) ?? messages;
    const byCount = await cut(new ChatHistoryTruncationReducer({ targetCount: 10 }));
    const byTokens = await cut(new ChatHistoryTokenReducer({ maxTokens: 1000, tokenCounter }));
    for (const result of [byCount, byTokens]) {
      expect(result.length).toBeLessThanOrEqual(messages.length);
      expect(splitsStep({ before: messages, after: result })).toBe(false);
    }
    expect(new Set(tokenCounter.asked).size).toBe(tokenCounter.asked.length);
    expect(findOrphanResults(byCount).length + stepsOf(byCount).length).toBeLessThanOrEqual(byCount.length);
  });
});

describe("long input", () => {
  it("goes through a foreign reducer that copies every message", async () => {
    const copying = asReducer((messages) => messages.map(({ content }) => new HumanMessage({ content })).slice(1));
    const messages = many(20_000, () => [human("x")]);
    const result = await copying.reduce(messages);
    expect(result).toHaveLength(19_999);
    expect(result!.at(-1)).toBe(messages.at(-1));
  });

  it.each([
    ["spaces", " "],
    ["letters", "a"],
    ["emoji", "👩‍👩‍👧‍👦"],
    ["accents", "\u0301"],
  ])("let the event loop run while a tool result of megabytes of %s is clipped", async (_, unit) => {
    const result = tool("1", unit.repeat(2_000_000 / unit.length));
    const tokenCounter = new CountingCounter();
    const clipped = await new ChatHistoryTokenReducer({ maxTokens: 100_000, tokenCounter }).reduceWithOutcome([
      human("x"),
      aiCalls("1"),
      result,
    ]);
    expect(clipped.overBudgetBy).toBe(0);
    expect(clipped.after.tokens!).toBeGreaterThan(90_000);
    const line = await new ChatHistoryToolResultReducer({ keepLast: 0 }).invoke([aiCalls("1"), result]);
    expect(line[1]!.text.length).toBeLessThanOrEqual(200);
  });

  it("lets other work run while it counts", async () => {
    let turns = 0;
    const busy = { id: "busy", perRequest: 0, countText: () => 1, countMessage: () => spin(1) };
    const timer = setInterval(() => (turns += 1), 1);
    await new ChatHistoryTokenReducer({ maxTokens: 10, tokenCounter: busy }).invoke(
      Array.from({ length: 200 }, () => human("x")),
    );
    clearInterval(timer);
    expect(turns).toBeGreaterThanOrEqual(3);
  });
});

/** Keeps the processor busy for some milliseconds. */
function spin(milliseconds: number): number {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    // A tokenizer would work here.
  }
  return 1;
}

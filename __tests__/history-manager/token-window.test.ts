import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool as createTool } from "@langchain/core/tools";
import { z } from "zod";
import { BudgetError } from "../../src/base/errors.js";
import type { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import {
  asking,
  call,
  characterCounter,
  chunks,
  newSession,
  resultOf,
  search,
  sourcesIn,
  type Session,
} from "./instances.js";
import { ai, human } from "../support/messages.js";

/** A loop of iterations, each with one result of so many chunks of 100 characters. */
async function loopOf(manager: HistoryManager, counts: readonly number[]): Promise<void> {
  for (const [index, count] of counts.entries()) {
    await search(manager, `c${index}`, { chunks: chunks(count, { length: 100 }), systemReminder: "Cite." });
  }
}

async function storeRounds(session: Session, count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await session.history().addMessages([human(`question ${round}`, `q${round}`), new AIMessage("answer".repeat(10))]);
  }
}

const texts = (messages: readonly BaseMessage[]) =>
  messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));

describe("the token window", () => {
  it("keeps a safety margin of a tenth by default", async () => {
    const limitOf = async (safetyMargin: number | undefined, maxInputTokens: number) =>
      (await newSession(maxInputTokens).instance({ safetyMargin }).getHistoryForModelCall(asking("hi"))).outcome.limit;
    expect(await limitOf(undefined, 1000)).toBe(900);
    expect(await limitOf(undefined, 110)).toBe(99);
    expect(await limitOf(0.25, 1000)).toBe(750);
    expect(await limitOf(0, 1000)).toBe(1000);
  });

  it("drops whole rounds, the oldest first, and leaves no gap for a smaller, older round", async () => {
    const session = newSession();
    await session.history().addMessages([human("small"), ai("x")]);
    await session.history().addMessages([human("large", "big"), new AIMessage("x".repeat(500))]);
    await session.history().addMessages([human("recent"), ai("x")]);
    const { messages, outcome } = await session.instance({ maxInputTokens: 150 }).getHistoryForModelCall(asking("hi"));
    expect(texts(messages)).toEqual(["Be kind.", "recent", "x", "hi"]);
    expect(texts(outcome.removed)).toEqual(["small", "x", "large", "x".repeat(500)]);
  });

  it("gives the loop precedence over older rounds", async () => {
    const session = newSession();
    await storeRounds(session, 3);
    const whole = session.instance();
    await loopOf(whole, [3]);
    const { messages: all, outcome: size } = await whole.getHistoryForModelCall(asking("hi"));
    const manager = session.instance({ maxInputTokens: size.tokens - 1 });
    await loopOf(manager, [3]);
    const { messages, outcome } = await manager.getHistoryForModelCall(asking("hi"));
    expect(texts(messages).slice(-2)[0]).toBe(texts(all).slice(-2)[0]);
    expect([sourcesIn(all, "c0"), sourcesIn(messages, "c0")]).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(outcome).toMatchObject({ shortened: [], overBudgetBy: 0 });
    expect(texts(outcome.removed)).toEqual(["question 0", "answer".repeat(10)]);
  });

  it("shrinks older iterations first, from the least relevant source on; keeps reminders and numbers", async () => {
    const manager = newSession(1500).instance();
    await loopOf(manager, [6, 6]);
    const { messages, outcome } = await manager.getHistoryForModelCall(asking("hi"));
    expect(outcome.overBudgetBy).toBe(0);
    expect([sourcesIn(messages, "c0"), sourcesIn(messages, "c1")]).toEqual([
      [1, 2, 3],
      [7, 8, 9, 10, 11, 12],
    ]);
    expect([resultOf(messages, "c0"), resultOf(messages, "c1")].every((text) => text.endsWith("\n\nCite."))).toBe(true);
    expect(outcome).toMatchObject({ removed: [], shortened: ["c0"] });
  });

  it("shortens long texts, then replaces results with a note; a failure stays readable", async () => {
    const manager = newSession(700).instance();
    manager.appendToolCalls([call("a"), call("b"), call("c")]);
    await manager.addToolCallResults([
      { id: "a", name: "search", content: "A".repeat(5000), systemReminder: "Cite." },
      { id: "b", name: "search", errorMessage: "E".repeat(1000) },
      { id: "c", name: "search", chunks: chunks(4, { length: 800 }) },
    ]);
    const { messages, outcome } = await manager.getHistoryForModelCall(asking("hi"));
    expect(outcome.overBudgetBy).toBe(0);
    expect(resultOf(messages, "a")).toBe("[Result omitted: it does not fit the context window.]\n\nCite.");
    expect(resultOf(messages, "b")).toMatch(
      /^Tool call search failed with error: E+\n\[Cut: the first \d+ of 1036 characters are shown\.\]$/,
    );
    expect(outcome).toMatchObject({ removed: [], shortened: ["a", "b", "c"] });
  });

  it("never splits a grapheme", async () => {
    const manager = newSession(1500).instance();
    await search(manager, "a", { content: "👨‍👩‍👧‍👦".repeat(300) });
    const { messages } = await manager.getHistoryForModelCall(asking("hi"));
    const [shown = ""] = resultOf(messages, "a").split("\n[Cut");
    expect(shown.length).toBeLessThan(3300);
    expect(shown).toBe("👨‍👩‍👧‍👦".repeat(shown.length / "👨‍👩‍👧‍👦".length));
  });

  it("says by how much it exceeds the window, and throws if asked to", async () => {
    const request = asking("a question that is far too long for so small a window".repeat(10));
    const { outcome } = await newSession(100).instance().getHistoryForModelCall(request);
    expect(outcome.overBudgetBy).toBe(outcome.tokens - 100);
    expect(outcome.overBudgetBy).toBeGreaterThan(400);
    await expect(newSession(100).instance({ onOverBudget: "throw" }).getHistoryForModelCall(request)).rejects.toThrow(
      BudgetError,
    );
  });

  it("counts tool definitions and arguments of calls", async () => {
    const lookup = createTool(() => "", {
      name: "lookup",
      description: "Finds what was said about a topic.",
      schema: z.object({ topic: z.string() }),
    });
    const plain = await newSession().instance().getHistoryForModelCall(asking("hi"));
    const manager = newSession().instance({ tools: [lookup] });
    const withTools = await manager.getHistoryForModelCall(asking("hi"));
    expect(withTools.outcome.tokens).toBeGreaterThan(plain.outcome.tokens + 30);
    manager.appendToolCalls([call("c", { query: "q".repeat(1000) })]);
    await manager.addToolCallResults([{ id: "c", name: "search", content: "x" }]);
    expect((await manager.getHistoryForModelCall(asking("hi"))).outcome.tokens).toBeGreaterThan(1000);
  });

  it("counts each message once per turn, however many iterations there are", async () => {
    const counted = new Map<string, number>();
    const session = newSession();
    await storeRounds(session, 3);
    const tokenCounter = characterCounter((message) => {
      const key = JSON.stringify([
        message.getType(),
        message.content,
        (message as { tool_call_id?: string }).tool_call_id,
        (message as AIMessage).tool_calls,
      ]);
      counted.set(key, (counted.get(key) ?? 0) + 1);
    });
    const manager = session.instance({ tokenCounter });
    await manager.addUploadedContent([{ id: "u", name: "a.txt", mimeType: "text/plain", text: "some text" }]);
    for (const id of ["a", "b", "c"]) {
      await manager.getHistoryForModelCall(asking("hi", { removeFromText: (text) => text.replace("answer", "") }));
      await search(manager, id, { content: id });
    }
    await manager.getHistoryForModelCall(asking("hi", { removeFromText: (text) => text.replace("answer", "") }));
    const earlier = [...counted].filter(([key]) => key.includes("question"));
    expect(earlier).toHaveLength(3);
    // The answers of the three rounds are equal, but three messages.
    expect([...counted].filter(([key, times]) => times > 1 && !key.includes("answer"))).toEqual([]);
    expect([...counted.values()].reduce((total, times) => total + times, 0)).toBeLessThan(30);
  });
});

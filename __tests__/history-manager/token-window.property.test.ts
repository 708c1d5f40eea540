import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { tool as createTool } from "@langchain/core/tools";
import { z } from "zod";
import { validateConversation } from "../../src/entries/structure.js";
import type { FittedWindow, ToolCallResponse, UploadedContent, HistoryManager } from "../../src/entries/tool-loop.js";
import { approximateCounter, countMessages, type TokenCounter, BudgetError } from "../../src/entries/index.js";
import { anyConversation } from "../support/conversations.js";
import {
  asking,
  characterCounter,
  newSession,
  resultOf,
  sourcesIn,
  call,
  chunks,
  search,
  type Session,
} from "./instances.js";
import { forAllAsync } from "../support/property-runs.js";
import { ai, human } from "../support/messages.js";

interface Iteration {
  /** What the model says beside its calls; may cite. */
  readonly text: string;
  readonly results: readonly Omit<ToolCallResponse, "id" | "name">[];
}

interface Scene {
  readonly stored: readonly BaseMessage[];
  readonly question: string;
  readonly iterations: readonly Iteration[];
  readonly uploads: readonly Omit<UploadedContent, "id">[];
  readonly share: number;
}

const words = (most: number) =>
  fc.tuple(fc.string({ maxLength: 6, unit: "grapheme" }), fc.nat(most)).map(([text, times]) => text.repeat(times));
const response = fc.oneof(
  fc.record({ content: words(600) }),
  fc.record({ errorMessage: words(100) }),
  fc.record({
    chunks: fc.array(
      fc.record({ id: fc.constantFrom("a", "b"), chunkId: fc.constantFrom("1", "2"), text: words(80) }),
      { maxLength: 12 },
    ),
    systemReminder: fc.constantFrom("", "Cite."),
    imageDataUrls: fc.constantFrom([], ["https://example.com/a.png"]),
  }),
);
const iteration = fc.record({
  text: fc.constantFrom("", "As [source1] says.", "[source2][source5]"),
  results: fc.array(response, { maxLength: 3 }),
});
const upload = fc.oneof(
  fc.record({
    name: fc.constant("f"),
    mimeType: fc.constant("text/plain"),
    text: words(300),
    messageId: fc.constantFrom("m0", "m3", "other"),
  }),
  fc.record({
    name: fc.constant("i"),
    mimeType: fc.constant("image/png"),
    url: fc.constant("https://example.com/i.png"),
  }),
);
const scene: fc.Arbitrary<Scene> = fc.record({
  stored: anyConversation({ maxLength: 14 }),
  question: words(20),
  iterations: fc.array(iteration, { maxLength: 4 }),
  uploads: fc.array(upload, { maxLength: 3 }),
  share: fc.constantFrom(0, 0.3, 0.6, 1),
});

async function play(
  { stored, question, iterations, uploads, share }: Scene,
  window: number,
  tokenCounter: TokenCounter,
): Promise<FittedWindow> {
  const session = newSession();
  await session.history().addMessages([...stored]);
  const manager = session.instance({ maxInputTokens: window, tokenCounter, percentForUploadedContent: share });
  await manager.addUploadedContent(uploads.map((content, index) => ({ ...content, id: `u${index}` })));
  for (const [number, { text, results }] of iterations.entries()) {
    const ids = results.map((_, index) => `c${number}-${index}`);
    manager.addAssistantMessage(
      new AIMessage({
        content: text,
        tool_calls: ids.map((id) => ({ type: "tool_call", id, name: "search", args: { id } })),
      }),
    );
    await manager.addToolCallResults(results.map((result, index) => ({ ...result, id: ids[index]!, name: "search" })));
  }
  return manager.getHistoryForModelCall(asking(question));
}

describe("the token window, for any input", () => {
  it("fits or says by how much it does not, has consistent totals, and is a valid conversation", () =>
    forAllAsync(
      60,
      fc.tuple(scene, fc.integer({ min: 1, max: 6000 }), fc.boolean()),
      async ([content, window, exact]) => {
        const counter = exact ? characterCounter() : approximateCounter();
        const { messages, outcome } = await play(content, window, counter);
        expect(
          validateConversation(messages, { purpose: "model-input" }).filter(({ severity }) => severity === "error"),
        ).toEqual([]);
        expect(outcome.tokens).toBe(await countMessages(counter, messages));
        expect(outcome.overBudgetBy).toBe(Math.max(0, outcome.tokens - window));
      },
    ));

  it("grows no result, loses no reminder, renumbers no source, and keeps cited ones longest", () =>
    forAllAsync(32, fc.tuple(scene, fc.integer({ min: 1, max: 4000 })), async ([content, window]) => {
      const whole = (await play(content, 1_000_000, characterCounter())).messages;
      const { messages, outcome } = await play(content, window, characterCounter());
      const all = content.iterations.flatMap(({ results }, number) =>
        results.map((result, index) => ({ result, id: `c${number}-${index}` })),
      );
      const numbers = all.flatMap(({ id }) => sourcesIn(whole, id));
      expect(new Set(numbers).size).toBe(numbers.length);
      const cited = new Set(
        content.iterations.flatMap(({ text }) =>
          [...text.matchAll(/\[source(\d)\]/g)].map(([, digit]) => Number(digit)),
        ),
      );
      for (const { result, id } of all) {
        const [before, after] = [resultOf(whole, id), resultOf(messages, id)];
        if (outcome.removed.some((message) => resultOf([message], id) !== "no such result")) {
          // Not even notes in the place of all results make it fit.
          continue;
        }
        expect(after.length).toBeLessThanOrEqual(before.length);
        expect(after.endsWith("\n\nCite.")).toBe(
          before.endsWith("\n\nCite.") && "systemReminder" in result && result.systemReminder !== "",
        );
        const [had, has] = [sourcesIn(whole, id), sourcesIn(messages, id)];
        expect(had).toEqual(expect.arrayContaining(has));
        if (has.some((number) => !cited.has(number))) {
          expect(has).toEqual(expect.arrayContaining(had.filter((number) => cited.has(number))));
        }
      }
    }));
});

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

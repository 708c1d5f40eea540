import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { validateConversation } from "../../src/entries/structure.js";
import type { FittedWindow, ToolCallResponse, UploadedContent } from "../../src/entries/tool-loop.js";
import { approximateCounter, countMessages, type TokenCounter } from "../../src/entries/index.js";
import { anyConversation } from "../support/conversations.js";
import { asking, characterCounter, newSession, resultOf, sourcesIn } from "./instances.js";
import { propertyRuns } from "../support/property-runs.js";

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
  it("fits or says by how much it does not, has consistent totals, and is a valid conversation", async () => {
    await fc.assert(
      fc.asyncProperty(scene, fc.integer({ min: 1, max: 6000 }), fc.boolean(), async (content, window, exact) => {
        const counter = exact ? characterCounter() : approximateCounter();
        const { messages, outcome } = await play(content, window, counter);
        expect(
          validateConversation(messages, { purpose: "model-input" }).filter(({ severity }) => severity === "error"),
        ).toEqual([]);
        expect(outcome.tokens).toBe(await countMessages(counter, messages));
        expect(outcome.overBudgetBy).toBe(Math.max(0, outcome.tokens - window));
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  it("grows no result, loses no reminder, renumbers no source, and keeps cited ones longest", async () => {
    await fc.assert(
      fc.asyncProperty(scene, fc.integer({ min: 1, max: 4000 }), async (content, window) => {
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
      }),
      { numRuns: propertyRuns(32) },
    );
  });
});

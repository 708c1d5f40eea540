import fc from "fast-check";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { splitRounds } from "../../src/messages/rounds.js";
import { ChatMemoryModule } from "../../src/memory/chat-memory-module.js";
import { keepLastCharacters, lengthOf } from "../../src/base/graphemes.js";
import { propertyRuns } from "../support/property-runs.js";

const content = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.constant("👩🏽‍🚀🇩🇪🇫🇷e\u0301"),
);
const messages = fc.array(
  fc.oneof(
    content.map((text): BaseMessage => new HumanMessage(text)),
    fc
      .tuple(content, fc.option(fc.string({ minLength: 1, maxLength: 8 })))
      .map(([text, name]): BaseMessage => new AIMessage(name === null ? text : { content: text, name })),
  ),
  { maxLength: 12 },
);
const options = fc.record({
  nRounds: fc.integer({ min: 1, max: 5 }),
  maxContext: fc.integer({ min: 2, max: 400 }),
  truncationNotice: fc.oneof(fc.constant("Notice: Chat history truncated due to maximum context window. "), content),
  noHistoryMessage: content,
});

describe("ChatMemoryModule", () => {
  it.each(["text", "json"] as const)("never exceeds maxContext, as %s", async (format) => {
    await fc.assert(
      fc.asyncProperty(messages, options, async (list, settings) => {
        const history = { getRounds: (count: number) => Promise.resolve(splitRounds(list).slice(-count)) };
        const result = await new ChatMemoryModule({ history, format, ...settings }).retrieve();
        expect([...result].length).toBeLessThanOrEqual(settings.maxContext);
      }),
      { numRuns: propertyRuns(250) },
    );
  });
});

describe("keepLastCharacters", () => {
  it("returns the longest end of the text that begins at a grapheme boundary and fits the limit", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), fc.nat(60), (text, limit) => {
        const kept = keepLastCharacters(text, limit);
        expect(text.endsWith(kept)).toBe(true);
        expect(lengthOf(kept)).toBeLessThanOrEqual(limit);
        const boundaries = [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)].map(
          ({ index }) => index,
        );
        const best = [...boundaries, text.length].find((index) => lengthOf(text.slice(index)) <= limit);
        expect(text.length - kept.length).toBe(best);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it("counts code points as iteration does", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => expect(lengthOf(text)).toBe([...text].length)));
  });
});

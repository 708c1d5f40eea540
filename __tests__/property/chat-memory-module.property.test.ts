import fc from "fast-check";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { splitRounds } from "../../src/conversation/messages/rounds.js";
import { ChatMemoryModule } from "../../src/memory/histories/chat-memory-module.js";
import { keepLastCharacters, lengthOf } from "../../src/base/graphemes.js";
import { forAll, forAllAsync } from "../support/property-runs.js";

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
  it.each(["text", "json"] as const)("never exceeds maxContext, as %s", (format) =>
    forAllAsync(250, fc.tuple(messages, options), async ([list, settings]) => {
      const history = { getRounds: (count: number) => Promise.resolve(splitRounds(list).slice(-count)) };
      const result = await new ChatMemoryModule({ history, format, ...settings }).retrieve();
      expect([...result].length).toBeLessThanOrEqual(settings.maxContext);
    }),
  );
});

describe("ChatMemoryModule as a trimmer", () => {
  const plain = fc.array(
    fc.oneof(
      fc.string({ minLength: 1, maxLength: 30 }).map((text): BaseMessage => new HumanMessage(text)),
      fc.string({ minLength: 1, maxLength: 30 }).map((text): BaseMessage => new AIMessage(text)),
    ),
    { maxLength: 12 },
  );

  it("shows what a history with these messages does, and as messages the question of a cut round", () =>
    forAllAsync(250, fc.tuple(plain, options), async ([list, settings]) => {
      const history = { getRounds: (count: number) => Promise.resolve(splitRounds(list).slice(-count)) };
      for (const format of ["text", "json"] as const) {
        const trimmed = await new ChatMemoryModule({ format, ...settings }).invoke(list);
        expect(trimmed).toBe(await new ChatMemoryModule({ history, format, ...settings }).retrieve());
      }
      const format = "messages";
      const retrieved = await new ChatMemoryModule({ history, format, ...settings }).retrieve();
      const trimmed = await new ChatMemoryModule({ format, ...settings }).invoke(list);
      const question = list.slice(0, list.indexOf(retrieved[0]!)).findLast((message) => message.type === "human");
      const isCut = question !== undefined && retrieved[0]!.type !== "human";
      // In front of a greeting stands a placeholder of the user, which counts.
      if (list[0]?.type !== "ai") {
        expect(trimmed).toEqual(isCut ? [question, ...retrieved] : retrieved);
      }
    }));
});

describe("ChatMemoryModule as text", () => {
  const digits = fc.string({ unit: fc.constantFrom("0", "1", "2"), minLength: 1, maxLength: 12 });
  const spoken = fc.array(
    fc.oneof(
      digits.map((text): BaseMessage => new HumanMessage(text)),
      digits.map((text): BaseMessage => new AIMessage(text)),
      digits.map((text): BaseMessage => new AIMessage({ content: text, name: "weather" })),
    ),
    { minLength: 1, maxLength: 6 },
  );

  it("never begins inside of a label that fits", async () => {
    const limits = { nRounds: fc.integer({ min: 1, max: 3 }), maxContext: fc.integer({ min: 11, max: 60 }) };
    await forAllAsync(
      500,
      fc.tuple(spoken, fc.record(limits), fc.constantFrom("", "!")),
      async ([list, settings, notice]) => {
        const text = await new ChatMemoryModule({ ...settings, truncationNotice: notice }).invoke(list);
        expect(text).toMatch(/^!?\n*((user|assistant|weather): )?[012]*(\n+(user|assistant|weather): [012]+)*$/);
      },
    );
  });
});

describe("keepLastCharacters", () => {
  it("returns the longest end of the text that begins at a grapheme boundary and fits the limit", () =>
    forAll(500, fc.tuple(fc.string({ unit: "grapheme", maxLength: 40 }), fc.nat(60)), ([text, limit]) => {
      const kept = keepLastCharacters(text, limit);
      expect(text.endsWith(kept)).toBe(true);
      expect(lengthOf(kept)).toBeLessThanOrEqual(limit);
      const boundaries = [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)].map(
        ({ index }) => index,
      );
      const best = [...boundaries, text.length].find((index) => lengthOf(text.slice(index)) <= limit);
      expect(text.length - kept.length).toBe(best);
    }));

  it("counts code points as iteration does", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => expect(lengthOf(text)).toBe([...text].length)));
  });
});

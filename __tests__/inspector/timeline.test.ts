import { reductionsOf } from "../../testing/session-store/store-case.js";
import fc from "fast-check";
import { ChatHistoryTruncationReducer, InMemorySessionStore, RedisChatMemory } from "langchain-redis-memory";
import type { OutlineEntry, SessionState } from "../../cli/inspector/model/data.js";
import { rowsOf } from "../../cli/inspector/model/row-model.js";
import { cutsOf, leftAt, viewAt } from "../../cli/inspector/model/timeline.js";
import { SeenAt } from "../../cli/inspector/model/why-seen.js";
import { ai, human } from "../support/messages.js";
import { forAllAsync } from "../support/property-runs.js";

const reduction = { head: 0, before: { messages: 10 }, after: { messages: 4 } };

describe("the timeline of a session", () => {
  it("tells from which message on the view began where, at every message of a session that was reduced", async () => {
    const inputs = fc.record({
      rounds: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 20 }),
      targetCount: fc.integer({ min: 1, max: 6 }),
      thresholdCount: fc.integer({ min: 0, max: 4 }),
    });
    await forAllAsync(30, inputs, async ({ rounds, ...counts }) => {
      const store = new InMemorySessionStore();
      const memory = new RedisChatMemory({ store, reducer: new ChatHistoryTruncationReducer(counts) });
      const starts: { readonly end: number; readonly start: number; readonly head: number }[] = [];
      for (const answers of rounds) {
        await memory.history("s").addMessages([human("q"), ...Array.from({ length: answers }, () => ai("a"))]);
        const { next, start, headCount } = await store.readView({ id: "s" });
        starts.push({ end: next, start, head: headCount });
      }
      const { next, start } = await store.readView({ id: "s" });
      const reductions = await reductionsOf(store, { id: "s" });
      const cuts = cutsOf({ reductions, reductionCount: reductions.length, start, next }, () => undefined);
      for (const { end, ...seen } of starts) {
        expect({ end, ...viewAt(end, cuts) }).toMatchObject({ end, ...seen });
      }
    });
  });

  it("goes by the messages' times where the reduction before is forgotten", () => {
    const reductions = [{ ...reduction, at: 105, start: 6 }];
    const cuts = cutsOf({ reductions, reductionCount: 150, start: 6, next: 20 }, (position) => 100 + position);
    expect(cuts).toEqual([expect.objectContaining({ number: 150, next: 6 })]);
    const later = cutsOf({ reductions, reductionCount: 150, start: 6, next: 20 }, (position) => 95 + position);
    expect(later[0]!.next).toBe(11);
  });

  it("leaves out reductions from before messages were removed again", () => {
    const reductions = [
      { ...reduction, at: 1, start: 6 },
      { ...reduction, at: 2, start: 4, before: { messages: 8 } },
    ];
    const log = { reductions, reductionCount: 2, next: 12 };
    expect(cutsOf({ ...log, start: 4 }, () => undefined).map(({ number }) => number)).toEqual([2]);
    expect(cutsOf({ ...log, start: 0 }, () => undefined)).toEqual([]);
  });

  it("finds the reduction at which a message left", () => {
    const reductions = [
      { ...reduction, at: 1, start: 6 },
      { ...reduction, at: 2, start: 12, before: { messages: 10 } },
    ];
    const cuts = cutsOf({ reductions, reductionCount: 2, start: 12, next: 20 }, () => undefined);
    expect(cuts.map(({ next }) => next)).toEqual([10, 16]);
    expect([0, 5, 6, 11, 12].map((position) => leftAt(position, 20, cuts)?.number)).toEqual([1, 1, 2, 2, undefined]);
    expect(leftAt(6, 15, cuts)).toBeUndefined();
  });
});

const plain: OutlineEntry = { role: "human", tokens: 1, size: 10 };

function sessionOf(changes: Partial<SessionState> = {}): SessionState {
  const positions = { base: 0, start: 6, next: 12, rounds: 12 };
  const reductions = [
    {
      at: Date.UTC(2026, 2, 12, 10, 15, 12),
      start: 6,
      head: 1,
      before: { messages: 10, tokens: 8_120 },
      after: { messages: 5 },
    },
  ];
  const common = { sessionId: "s", edition: "e", head: [], summaries: [], reductionCount: 1 };
  return { ...common, ...positions, reductions, ...changes };
}

function seenIn(session: SessionState, end = session.next, hidden: readonly number[] = []) {
  const cuts = cutsOf(session, () => undefined);
  return new SeenAt({ session, cuts, end, hidden: new Set(hidden) });
}

describe("the reason why a message is not seen", () => {
  it("names the reduction, its time and the sizes of the view", () => {
    const { headline, reasons, label } = seenIn(sessionOf()).why(2, "human");
    expect([label, headline]).toEqual(["left the view", "The model no longer sees this message."]);
    expect(reasons).toEqual([
      "It left the view at reduction 1 of 1, on 2026-03-12 10:15:12 (UTC): the view held 10 messages (8,120 tokens) " +
        "and was cut to 5 messages.",
      "No summary covers it, so the model knows nothing of it.",
    ]);
  });

  it("names the summary that stands in its place", () => {
    const message = { role: "summary", type: "human", tokens: 9, parts: [], calls: [] } as const;
    const session = sessionOf({ head: [{ message }], summaries: [{ place: 0, count: 5, first: 1, last: 5 }] });
    expect(seenIn(session).why(2, "human")).toMatchObject({ state: "summarized", summary: 0 });
    expect(seenIn(session).why(2, "human").reasons[1]).toContain("together with 4 other messages");
    expect(seenIn(session).why(0, "human").state).toBe("left");
    expect(seenIn(session).why(2, "system").state).toBe("left");
  });

  it("tells what is kept in front, shortened, hidden, unreadable and still to come from what left", () => {
    const message = { role: "human", type: "human", tokens: 9, parts: [], calls: [] } as const;
    const head = [
      { message, position: 1 },
      { message, position: 3, changed: true },
    ];
    const seen = seenIn(sessionOf({ head }), 12, [8]);
    const states = [1, 3, 4, 6, 8].map((position) => seen.stateOf(position, "human"));
    expect(states).toEqual(["front", "changed", "left", "seen", "hidden"]);
    expect(seen.stateOf(7, "unreadable")).toBe("unreadable");
    const before = seenIn(sessionOf({ head }), 9);
    expect([1, 4, 8, 9].map((position) => before.stateOf(position, "human"))).toEqual([
      "seen",
      "seen",
      "seen",
      "later",
    ]);
    expect(before.why(4, "human").headline).toBe("At message 9, the model sees this message.");
  });

  it("says what it cannot know", () => {
    expect(seenIn(sessionOf({ reductionCount: 140 })).why(2, "human").reasons[0]).toContain(
      "at reduction 140 or one before it of 140",
    );
    expect(seenIn(sessionOf({ reductions: [], reductionCount: 0 })).why(2, "human").reasons[0]).toBe(
      "It left the view in a reduction that the session no longer remembers.",
    );
  });
});

describe("the rows of the conversation", () => {
  const outlineOf = (...entries: readonly Partial<OutlineEntry>[]) => entries.map((entry) => ({ ...plain, ...entry }));

  it("put results to their step, numbers to rounds, and a line where the view begins", () => {
    const outline = outlineOf(
      { role: "system" },
      { role: "human" },
      { role: "ai", calls: ["a", "b"] },
      { role: "tool", caller: 2 },
      { role: "tool", caller: 2 },
      { role: "tool" },
      { role: "human" },
    );
    const session = sessionOf({
      next: 7,
      start: 6,
      rounds: 2,
      reductions: [{ ...reduction, at: 1, start: 6, before: { messages: 7 } }],
    });
    const rows = rowsOf({ session, outline, base: 0, cuts: cutsOf(session, () => undefined), end: 7 });
    expect(rows.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      ...["message 0", "message 1", "step 2", "message 5", "cut cut 1", "message 6"],
    ]);
    expect(rows[2]).toMatchObject({ results: [3, 4] });
    expect(rows.flatMap((row) => (row.kind === "message" ? (row.round ?? []) : []))).toEqual([1, 2]);
    const earlier = rowsOf({ session, outline, base: 0, cuts: cutsOf(session, () => undefined), end: 4 });
    expect(earlier.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      "message 0",
      "message 1",
      "step 2",
      "later later",
    ]);
    expect(earlier[2]).toMatchObject({ results: [3] });
  });
});

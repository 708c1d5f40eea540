import type { TurnSettings } from "../../src/memory/session/append-options.js";
import { nextStep, type AppendReply } from "../../src/memory/session/append-turn.js";

const cut = { to: 0 } as never;
const view = { records: [] } as never;
const turn = { done: false, count: 2, first: 0, same: false, records: [] };

/** A reply of a store that wrote nothing, because the turn is stored in part, but for what is said. */
const reply = (stored: Partial<typeof turn> | undefined, isOwn = false): AppendReply => ({
  result: {
    ...{ appended: stored === undefined ? 2 : 0, duplicates: 0, next: 7, conflicts: [], time: 1 },
    ...(stored && { turn: { ...turn, ...stored } }),
    view,
  } as never,
  isOwn,
});

const refused = (reason: string, next: number) => ({
  appended: 0,
  duplicates: 0,
  next,
  repeated: false,
  refused: reason,
});
const nothing = { appended: 0, duplicates: 0, next: 7, repeated: false };
const written = { ...nothing, appended: 2 };
const part = { ...turn };

const rows: readonly (readonly [string, TurnSettings | undefined, AppendReply, object])[] = [
  ["others went on", {}, "stale", { is: "done", outcome: refused("overtaken", 0), event: "not stored" }],
  [
    "others went on, told by the caller",
    { triesAgain: true },
    "stale",
    { is: "done", outcome: refused("overtaken", 0) },
  ],
  ["it is written", {}, reply(undefined), { is: "done", outcome: written, isWritten: true }],
  ["it is written, opening", { opens: true }, reply(undefined), { is: "done", outcome: written, isWritten: true }],
  [
    "it opens, and a part is stored",
    { opens: true },
    reply({}),
    { is: "done", outcome: { ...nothing, storedTurn: part, view } },
  ],
  [
    "it opens, and all is stored",
    { opens: true },
    reply({ done: true }),
    { is: "done", outcome: { ...nothing, storedTurn: { ...part, done: true }, view } },
  ],
  [
    "the turn is done",
    {},
    reply({ done: true }),
    { is: "done", outcome: { ...nothing, repeated: true, storedTurn: { ...part, done: true } }, event: "repeated" },
  ],
  [
    "the turn is done, and the view is wanted",
    { returnView: true },
    reply({ done: true }),
    {
      is: "done",
      outcome: { ...nothing, repeated: true, storedTurn: { ...part, done: true }, view },
      event: "repeated",
    },
  ],
  [
    "the turn is done, for a plain append",
    undefined,
    reply({ done: true }),
    { is: "done", outcome: { ...nothing, repeated: true }, event: "repeated" },
  ],
  ["the same part again", {}, reply({ same: true }), { is: "done", outcome: { ...nothing, turnCount: 2 } }],
  ["its own write, sent twice", { stored: 1 }, reply({}, true), { is: "done", outcome: { ...nothing, turnCount: 2 } }],
  ["its own plain write, sent twice", undefined, reply({}, true), { is: "done", outcome: nothing }],
  [
    "less is stored than it knew",
    { stored: 3 },
    reply({}),
    { is: "done", outcome: refused("forgotten", 7), event: "not stored" },
  ],
  [
    "more is stored than it knew",
    { stored: 1 },
    reply({}),
    { is: "done", outcome: refused("overtaken", 7), event: "not stored" },
  ],
  ["its place was taken", { cut }, reply({}), { is: "done", outcome: refused("overtaken", 7), event: "not stored" }],
  ["a part is stored that it did not know", {}, reply({}), { is: "again", turn: part }],
];

describe("the next step of an append", () => {
  it.each(rows)("where %s", (_, known, given, expected) => {
    expect(nextStep(known, given)).toEqual(expected);
  });
});

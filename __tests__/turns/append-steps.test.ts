import type { TurnSettings } from "../../src/memory/session/append-input.js";
import { nextStep, type AppendReply } from "../../src/memory/session/append-turn.js";

const cut = { to: 0 } as never;
const view = { records: [] } as never;
const turn = { done: false, count: 2, first: 0, same: false, records: [] };
const whole = { ...turn, done: true };

/** A reply of a store that wrote nothing, because the turn is stored in part, but for what is said. */
const reply = (stored: Partial<typeof turn> | undefined, isOwn = false): AppendReply => ({
  result: {
    ...{ appended: stored === undefined ? 2 : 0, duplicates: 0, next: 7, conflicts: [], time: 1 },
    ...(stored && { turn: { ...turn, ...stored } }),
    view,
  } as never,
  isOwn,
});

/** The end of an append, with an outcome that says no more than this. */
const done = (outcome: object, rest: object = {}) => {
  const nothing = { appended: 0, duplicates: 0, next: 7, repeated: false };
  return { is: "done", outcome: { ...nothing, ...outcome }, ...rest };
};
const repeated = (fields: object) => done({ repeated: true, ...fields }, { event: "repeated" });
const refused = (reason: string, next = 7) => done({ next, refused: reason }, { event: "not stored" });
const written = done({ appended: 2 }, { isWritten: true });

const rows: readonly (readonly [string, TurnSettings | undefined, AppendReply, object])[] = [
  ["others went on", {}, "stale", refused("overtaken", 0)],
  ["others went on, told by the caller", { triesAgain: true }, "stale", done({ next: 0, refused: "overtaken" })],
  ["it is written", {}, reply(undefined), written],
  ["it is written, opening", { opens: true }, reply(undefined), written],
  ["it opens, and a part is stored", { opens: true }, reply({}), done({ storedTurn: turn, view })],
  ["it opens, and all is stored", { opens: true }, reply({ done: true }), done({ storedTurn: whole, view })],
  ["the turn is done", {}, reply({ done: true }), repeated({ storedTurn: whole })],
  ["it is done, and returns the view", { returnView: true }, reply(whole), repeated({ storedTurn: whole, view })],
  ["the turn is done, for a plain append", undefined, reply({ done: true }), repeated({})],
  ["the same part again", {}, reply({ same: true }), done({ turnCount: 2 })],
  ["its own write, sent twice", { stored: 1 }, reply({}, true), done({ turnCount: 2 })],
  ["its own plain write, sent twice", undefined, reply({}, true), done({})],
  ["less is stored than it knew", { stored: 3 }, reply({}), refused("forgotten")],
  ["more is stored than it knew", { stored: 1 }, reply({}), refused("overtaken")],
  ["its place was taken", { cut }, reply({}), refused("overtaken")],
  ["a part is stored that it did not know", {}, reply({}), { is: "again", turn }],
];

describe("the next step of an append", () => {
  it.each(rows)("where %s", (_, known, given, expected) => {
    expect(nextStep(known, given)).toEqual(expected);
  });
});

import { checkAnswers, type FinalChat } from "../../tools/faults/checking/check-answers.js";
import type { Told } from "../../tools/faults/journal/entries.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { partsOf, wholeAnswer } from "../../tools/faults/journal/said-parts.js";

const follow = (asked: number, turn: string, answer: Partial<Told>): Call => {
  const base = { client: "0-0", session: "s", chat: "s.chat", do: "follow", asked, told: asked + 5 };
  return { ...base, turn, ok: answer.end === "done", answer } as Call;
};
const whole = wholeAnswer("a");
const done = (asked: number, more: Partial<Told> = {}) =>
  follow(asked, "a", { said: whole, end: "done", run: "7", ...more });
const stored = { questions: ["a"], answers: [{ turn: "a", text: whole }] };

function found(calls: readonly Call[], chat: Partial<FinalChat> = stored, windows: number[] = []) {
  const chats = [{ id: "s.chat", questions: [], answers: [], ...chat }];
  const around = windows.map((from) => ({ from, to: from + 1 }));
  return checkAnswers(chats, calls, around).map(({ figure, says }) => `${figure}: ${says}`);
}

describe("The checker of answers that were runs", () => {
  it("passes readers that heard all of it, or its beginning where it was stopped or lost", () => {
    const part = partsOf("a").slice(0, 4).join("");
    const ends = ["stopped", "lost", "failed"].map((end, at) => follow(at, "a", { said: part, end, run: String(at) }));
    expect(found([done(10), done(20), ...ends, follow(30, "a", {}), follow(40, "a", { said: "" })])).toEqual([]);
  });

  it("counts readers that miss, repeat or mix up parts, and an end that comes too early", () => {
    const [first, second, third] = partsOf("a") as [string, string, string];
    for (const said of [first + third, first + second + second, second, wholeAnswer("b"), `${whole}${whole}`]) {
      expect(found([follow(0, "a", { said, end: "stopped", run: "7" })])).toHaveLength(1);
    }
    expect(found([done(0, { said: first })])).toEqual([expect.stringContaining('heard "[a-1]", and then "done"')]);
  });

  it("counts a run with two ends, but not what a process says of what it cannot read", () => {
    const other = (end: string) => [done(0), done(10, { end, said: "[a-1]" })];
    expect(found(other("lost"))).toEqual(["brokenRuns: the run 7 of turn a ended as done and as lost"]);
    expect(found(other("failed"))).toEqual([]);
    expect(found([done(0), done(10, { end: "lost", run: "8", said: "[a-1]" })])).toEqual([]);
  });

  it("counts what is done and is not stored, or stored twice, or stored as something else", () => {
    expect(found([done(0)], {})).toEqual(["brokenRuns: turn a is done, and stored is undefined"]);
    expect(found([done(0)], { ...stored, answers: [{ turn: "a", text: "[a-1]" }] })).toHaveLength(1);
    expect(found([done(0)], { ...stored, answers: [...stored.answers, ...stored.answers] })).toHaveLength(1);
    expect(found([done(0)], { ...stored, questions: ["a", "a"] })).toHaveLength(1);
    expect(found([], { answers: [{ turn: "a", text: "[a-1] 1" }] })).toHaveLength(1);
  });
});

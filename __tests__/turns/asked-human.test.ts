import { hearingQuestions, isHeard, tellQuestions } from "../../src/turns/asked-human.js";

describe("who hears of the questions of a graph", () => {
  it("is the run around it, for each write that asks a human", () => {
    let asked = 0;
    const onQuestion = () => {
      asked += 1;
    };
    hearingQuestions(onQuestion, () => {
      expect(isHeard()).toBe(true);
      tellQuestions([
        ["messages", "Which city?"],
        ["__interrupt__", "Which city?"],
      ]);
      tellQuestions([["messages", "Oslo"]]);
    });
    expect(asked).toBe(1);
  });

  it("is nobody without such a run", () => {
    expect(isHeard()).toBe(false);
    expect(() => tellQuestions([["__interrupt__", "Which city?"]])).not.toThrow();
  });
});

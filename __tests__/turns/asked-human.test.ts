import { observedInterrupts, observingInterrupts, OpenQuestions } from "../../src/memory/turns/asked-human.js";

const at = (thread: string, checkpoint = "1") => ({ thread, checkpoint });
const asks = [["__interrupt__", "Which city?"]] as const;

describe("the questions of graphs", () => {
  it("are open from a task's question to what it writes next, or to the next checkpoint of the thread", () => {
    const questions = new OpenQuestions();
    questions.wrote([["messages", "Oslo"]], at("a"), "1");
    expect([questions.isTold, questions.threads]).toEqual([false, []]);
    questions.wrote([["messages", "Which city?"], ...asks], at("a"), "1");
    questions.wrote(asks, at("a"), "2");
    questions.wrote(asks, at("b"), "3");
    expect([questions.isTold, questions.threads]).toEqual([true, ["a", "b"]]);
    questions.wrote([["__resume__", "Oslo"]], at("a"), "1");
    questions.wrote([["messages", "Oslo"]], at("a"), "1");
    expect(questions.threads).toEqual(["a", "b"]);
    // LangGraph may store the checkpoint of a question behind the question.
    questions.moved(at("a"));
    expect(questions.threads).toEqual(["a", "b"]);
    questions.moved(at("a", "2"));
    expect(questions.threads).toEqual(["b"]);
    questions.wrote([["__no_writes__", null]], at("b"), "3");
    expect([questions.isTold, questions.threads]).toEqual([true, []]);
  });

  it("are heard by the run around a graph, and by nobody without one", () => {
    const questions = new OpenQuestions();
    observingInterrupts(questions, () => observedInterrupts()?.wrote(asks, at("a"), "1"));
    expect(questions.threads).toEqual(["a"]);
    expect(observedInterrupts()).toBeUndefined();
  });
});

import { observedInterrupts, observingInterrupts, PendingInterrupts } from "../../src/memory/turns/interrupts.js";

const at = (thread: string, checkpoint = "1") => ({ thread, checkpoint });
const asks = [["__interrupt__", "Which city?"]] as const;

describe("the pending interrupts of graphs", () => {
  it("wait from a task's interrupt to what it writes next, or to the next checkpoint of the thread", () => {
    const pending = new PendingInterrupts();
    pending.wrote([["messages", "Oslo"]], at("a"), "1");
    expect([pending.isObserved, pending.threads]).toEqual([false, []]);
    pending.wrote([["messages", "Which city?"], ...asks], at("a"), "1");
    pending.wrote(asks, at("a"), "2");
    pending.wrote(asks, at("b"), "3");
    expect([pending.isObserved, pending.threads]).toEqual([true, ["a", "b"]]);
    pending.wrote([["__resume__", "Oslo"]], at("a"), "1");
    pending.wrote([["messages", "Oslo"]], at("a"), "1");
    expect(pending.threads).toEqual(["a", "b"]);
    // LangGraph may store the checkpoint of an interrupt behind it.
    pending.moved(at("a"));
    expect(pending.threads).toEqual(["a", "b"]);
    pending.moved(at("a", "2"));
    expect(pending.threads).toEqual(["b"]);
    pending.wrote([["__no_writes__", null]], at("b"), "3");
    expect([pending.isObserved, pending.threads]).toEqual([true, []]);
  });

  it("are noted for the run around a graph, and for nobody without one", () => {
    const pending = new PendingInterrupts();
    observingInterrupts(pending, () => observedInterrupts()?.wrote(asks, at("a"), "1"));
    expect(pending.threads).toEqual(["a"]);
    expect(observedInterrupts()).toBeUndefined();
  });
});

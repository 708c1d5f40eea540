import type { AIMessage } from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import {
  interruptedAnswer,
  interruptedMessage,
  partialOf,
  PartialOutput,
  stopSignal,
} from "../../src/memory/turns/stop.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";

const said = (message: BaseMessage | undefined) => message && `${message.type}: ${message.text}`;
const isMarked = (message: BaseMessage | undefined) =>
  (message as AIMessage | undefined)?.response_metadata["interrupted"] === true;

describe("what is stored of a message that was stopped", () => {
  it.each<[string, BaseMessage | undefined]>([
    ["no message", undefined],
    ["a question", human("Why?")],
    ["a result", tool("c")],
    ["no text", ai("")],
    ["white space alone", ai(" \n")],
    ["calls alone", aiCalls("c")],
  ])("is nothing of %s", (_, partial) => {
    expect(interruptedMessage(partial)).toBeUndefined();
  });

  it("is its text, marked, with its id, name and metadata, and without its calls", () => {
    const calls = ai("Let me", { calls: ["c"], id: "m" });
    const partial = Object.assign(calls, { name: "clerk", response_metadata: { model_name: "m-1" } });
    const stored = interruptedMessage(partial) as AIMessage;
    expect([stored.id, stored.name, stored.content, stored.tool_calls]).toEqual(["m", "clerk", "Let me", []]);
    expect(stored.response_metadata).toEqual({ model_name: "m-1", interrupted: true });
    expect(Object.keys(interruptedMessage(ai("Let me"))!.toDict().data)).not.toContain("name");
  });
});

describe("what is stored of a turn that was stopped", () => {
  const two = ai("Both.", { calls: ["c1", "c2"] });
  it.each<[string, readonly BaseMessage[], readonly string[], boolean]>([
    ["that said nothing", [], [], false],
    ["in its first words", [ai("Well")], ["ai: Well"], true],
    ["behind a whole step", [aiCalls("c"), tool("c")], ["ai: ", "tool: result of c"], false],
    ["in the words behind a step", [aiCalls("c"), tool("c"), ai("So")], ["ai: ", "tool: result of c", "ai: So"], true],
    ["before it said a word", [aiCalls("c"), tool("c"), ai("")], ["ai: ", "tool: result of c"], false],
    ["in a call without words", [aiCalls("c")], [], false],
    ["between two results", [two, tool("c1")], ["ai: Both."], true],
    ["in a later step", [aiCalls("c"), tool("c"), two, tool("c2")], ["ai: ", "tool: result of c", "ai: Both."], true],
  ])("%s", (_, messages, stored, marked) => {
    const answer = interruptedAnswer(messages);
    expect(answer.map(said)).toStrictEqual(stored);
    expect(isMarked(answer.at(-1))).toBe(marked);
    expect(answer.slice(0, -1).some(isMarked)).toBe(false);
  });
});

describe("the words of a run that was stopped", () => {
  const heard = (...parts: readonly (readonly [string, string])[]) => {
    const all = new PartialOutput();
    parts.forEach(([token, run]) => all.handleLLMNewToken(token, undefined, run));
    return all;
  };

  it.each<[string, unknown, PartialOutput | undefined, unknown]>([
    ["are those that its error brings", { partialOutput: ai("own") }, heard(["its model", "1"]), "ai: own"],
    ["are its model's where the error has none", new Error(), heard(["its model", "1"]), "ai: its model"],
    ["are none where nobody listened", new Error(), undefined, undefined],
  ])("%s", async (_, error, listening, words) => {
    const rejected = Promise.reject(error as Error);
    expect(said((await partialOf(rejected, listening)) as BaseMessage | undefined)).toBe(words);
  });

  it("are those of the model that began last, and of none that has ended", () => {
    const all = heard(["one", "1"], ["two", "2"], ["!", "1"]);
    expect([said(all.unfinished), said(all.last)]).toEqual(["ai: two", "ai: one!"]);
    all.handleLLMEnd(undefined, "2");
    expect(said(all.unfinished)).toBe("ai: one!");
    all.handleLLMEnd(undefined, "1");
    expect([said(all.unfinished), said(all.last)]).toEqual([undefined, "ai: one!"]);
  });
});

describe("a signal that stops a run", () => {
  it("is LangGraph's own of the run, else that of the config", () => {
    const { signal } = new AbortController();
    const externalAbortSignal = AbortSignal.abort();
    const of = (signals: object) => stopSignal({ signal, configurable: { __pregel_abort_signals: signals } });
    expect([stopSignal({}), stopSignal({ signal }), stopSignal({ signal, configurable: {} })]).toEqual([
      ...[undefined, signal, signal],
    ]);
    expect([of({}), of({ externalAbortSignal })]).toEqual([signal, externalAbortSignal]);
  });
});

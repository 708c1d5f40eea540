import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import {
  type BuiltInProfile,
  builtInProfiles,
  repairConversation,
  validateConversation,
} from "../../src/entries/structure.js";
import { halfPairs } from "../../testing/wire/json.js";
import { nativeAnswers } from "../support/native-answers.js";

const text = fc.string({ unit: fc.constantFrom("a", " ", "é", "😀", "\ud83d", "\ude00") });
const profiles = Object.keys(builtInProfiles) as BuiltInProfile[];

/** The parts of a message that adapters send. */
function sent(messages: readonly BaseMessage[]): unknown {
  return messages.map((message) => {
    const { content, name, additional_kwargs, response_metadata } = message;
    const { tool_calls, tool_call_id } = message as AIMessage & { tool_call_id?: string };
    const { output } = response_metadata as { output?: unknown };
    return { content, name, tool_calls, tool_call_id, additional_kwargs, output };
  });
}

it.each(profiles)("a request for %s holds no half of a surrogate pair, whoever gave the answers", (profile) => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(nativeAnswers)), text, text, text, (source, said, thought, argument) => {
      const answer = nativeAnswers[source]!({ text: said, thought, args: { [`k${argument}`]: argument } });
      const results = answer.tool_calls!.map(({ id, name }) => {
        return new ToolMessage({ content: [{ type: "json", json: said } as never], tool_call_id: id!, name });
      });
      const given = [
        new HumanMessage(said || "q"),
        answer,
        ...results,
        new HumanMessage({ content: "q", name: thought }),
      ];
      const before = JSON.stringify(sent(given));
      const { messages } = repairConversation(given, { profile, purpose: "model-input" });
      expect(halfPairs(sent(messages))).toEqual([]);
      expect(JSON.stringify(sent(given))).toBe(before);
      expect(repairConversation(messages, { profile, purpose: "model-input" }).repairs).toEqual([]);
    }),
  );
});

it("keeps two names of arguments apart, and what stands in no half", () => {
  const args = { "\ud83d": 1, "\ud83e": 2, ok: "😀" };
  const answer = new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "lookup", args, type: "tool_call" }] });
  const [, repaired] = repairConversation([new HumanMessage("q"), answer]).messages as AIMessage[];
  expect(repaired!.tool_calls![0]!.args).toEqual({ "\ufffd": 1, "\ufffd\ufffd": 2, ok: "😀" });
});

it("passes values that hold themselves, names of JavaScript's own, and bytes", () => {
  const content: Record<string, unknown>[] = [
    { type: "text", text: "Hi." },
    { type: "custom", bytes: Buffer.from("a"), size: NaN },
  ];
  content.push(
    { type: "custom", content },
    JSON.parse('{"type": "custom", "__proto__": "x"}') as Record<string, unknown>,
  );
  const result = new ToolMessage({ content: content as never, tool_call_id: "c1" });
  expect(validateConversation([result]).filter(({ rule }) => rule === "S37")).toEqual([]);
});

it.each([1_000, 100_000])(
  "passes a value %i deep, with half a pair that no JSON can hold where it is too deep",
  (depth) => {
    let args: Record<string, unknown> = { text: "\ud83d" };
    for (let level = 0; level < depth; level += 1) {
      args = { args };
    }
    const answer = new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "lookup", args, type: "tool_call" }] });
    const messages = [new HumanMessage("q"), answer, new ToolMessage({ content: "r", tool_call_id: "c1" })];
    const { repairs } = repairConversation(messages);
    expect(repairs.map(({ rule }) => rule)).toEqual(depth > 2_000 ? [] : ["S37"]);
  },
);

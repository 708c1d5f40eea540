import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { callIdsOf, callsOf } from "../../src/conversation/messages/content.js";
import { callsAgree } from "../../src/conversation/messages/copies/call-copies.js";
import { adapters } from "../../src/conversation/structure/adapters/adapter.js";
import { nativeAnswers } from "../support/native-answers.js";
import {
  type BuiltInProfile,
  builtInProfiles,
  repairConversation,
  validateConversation,
} from "../../src/entries/structure.js";
import { halfPairs } from "../../testing/wire/json.js";

const said = { text: "I look.", thought: "It may be cold.", args: { place: "Kiel", days: [1, 2] } };
const sources = Object.keys(nativeAnswers);
const native = (source: string) => nativeAnswers[source]!(structuredClone(said));

function conversation(answer: AIMessage): BaseMessage[] {
  const results = callIdsOf(answer).map((id) => new ToolMessage({ content: "4", tool_call_id: id, name: "lookup" }));
  return [new HumanMessage("q"), answer, ...results];
}

type Copy = Record<string, unknown>;

/** Every copy of a call besides `tool_calls`, with the keys of its id, its name and its arguments. */
function copiesIn(answer: AIMessage): { readonly copy: Copy; readonly keys: readonly string[] }[] {
  const blocks = (Array.isArray(answer.content) ? answer.content : []) as Copy[];
  const raw = (answer.additional_kwargs["tool_calls"] ?? []) as unknown as Copy[];
  const output = (answer.response_metadata["output"] ?? []) as Copy[];
  const ofType = (type: string, keys: readonly string[]) =>
    blocks.filter((block) => block["type"] === type).map((copy) => ({ copy, keys }));
  return [
    ...ofType("tool_use", ["id", "name", "input"]),
    ...ofType("tool_call", ["id", "name", "args"]),
    ...ofType("functionCall", []).map(({ copy }) => ({ copy: copy["functionCall"] as Copy, keys: ["name", "args"] })),
    ...raw.map((copy) => ({ copy, keys: ["id"] })),
    ...raw.map(({ function: called }) => ({ copy: called as Copy, keys: ["name", "arguments"] })),
    ...output
      .filter(({ type }) => type === "function_call")
      .map((copy) => ({ copy, keys: ["call_id", "name", "arguments"] })),
  ];
}

const others: Readonly<Record<string, unknown>> = {
  input: { place: "Bonn" },
  args: { place: "Bonn" },
  arguments: '{"place":"Bonn"}',
};

it.each(sources)("agree in an answer as its adapter made it: %s", (source) => {
  expect(callsAgree(native(source))).toBe(true);
});

it("agree in the arguments of a streamed call by all pieces of their text", () => {
  const answer = native("anthropic");
  const calls = answer.tool_calls!;
  const piece = (index: number, input: string) => ({ type: "input_json_delta", index, input });
  const streamed = calls.flatMap(({ id, name, args }, index) => {
    const text = JSON.stringify(args);
    return [
      { type: "tool_use", index, id, name, input: "" },
      piece(index, text.slice(0, 3)),
      piece(index, text.slice(3)),
    ];
  });
  expect(callsAgree(new AIMessage({ content: streamed as never, tool_calls: calls }))).toBe(true);
  streamed.splice(1, 2, piece(0, '{"place":"Bonn"}'));
  expect(callsAgree(new AIMessage({ content: streamed as never, tool_calls: calls }))).toBe(false);
});

it("do not agree after a change of any one copy, and then only the calls go out", () => {
  let changes = 0;
  fc.assert(
    fc.property(fc.constantFrom(...sources), fc.nat(), fc.nat(), (source, which, key) => {
      const answer = native(source);
      const copies = copiesIn(answer);
      fc.pre(copies.length > 0);
      const { copy, keys } = copies[which % copies.length]!;
      const name = keys[key % keys.length]!;
      // Calls and blocks of an answer may be the same objects.
      const calls = structuredClone(answer.tool_calls!);
      copy[name] = others[name] ?? "other";
      answer.tool_calls = calls;
      expect(callsAgree(answer)).toBe(false);
      for (const profile of adapters) {
        const repaired = repairConversation(conversation(answer), { profile }).messages[1] as AIMessage;
        const expected = callsOf(answer).map(({ name: tool, args }) => [tool, args]);
        expect(callsOf(repaired).map(({ name: tool, args }) => [tool, args])).toEqual(expected);
        // Another adapter than OpenAI's does not read raw calls.
        expect(callsAgree(repaired) || !Array.isArray(repaired.content)).toBe(true);
      }
      changes += 1;
    }),
  );
  expect(changes).toBeGreaterThan(0);
});

it("make the answer plain where its raw output tells another call", () => {
  const answer = native("openai responses");
  const output = answer.response_metadata["output"] as Copy[];
  output.filter(({ type }) => type === "function_call").forEach((item) => (item["name"] = "find"));
  const { messages: repaired } = repairConversation(conversation(answer), { profile: "openai-responses" });
  const { response_metadata: metadata, tool_calls: calls } = repaired[1] as AIMessage;
  expect([metadata["output"], calls!.map(({ name }) => name)]).toEqual([undefined, ["lookup", "lookup"]]);
});

it("agree once a form has left out one of two blocks of a call", () => {
  const called = { id: "c1", name: "lookup", args: { q: 1 } };
  const content = [
    { type: "functionCall", functionCall: { name: "lookup", args: {} } },
    { ...called, type: "tool_call" },
  ];
  const fields = { content, response_metadata: { output_version: "v1" }, tool_calls: [called] };
  const broken = [{ id: "c1", name: "lookup", args: '{"q": "tru' }];
  const answer = new AIMessage({ ...fields, invalid_tool_calls: broken } as never);
  const { messages } = repairConversation([new HumanMessage("q"), answer], { profile: "google-genai" });
  expect(callsAgree(messages[1]!)).toBe(true);
});

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

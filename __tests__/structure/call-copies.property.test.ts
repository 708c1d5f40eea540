import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { callIdsOf, callsOf } from "../../src/conversation/messages/content.js";
import { callsAgree } from "../../src/conversation/messages/copies/provider-fields.js";
import { adapters } from "../../src/conversation/structure/adapters/adapter.js";
import { repairConversation } from "../../src/conversation/structure/validate.js";
import { nativeAnswers } from "../support/native-answers.js";

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

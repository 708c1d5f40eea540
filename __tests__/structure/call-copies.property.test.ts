import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { callIdsOf, callsOf } from "../../src/messages/calls.js";
import { adapters } from "../../src/structure/adapters/adapter.js";
import { builtInProfiles, type BuiltInProfile } from "../../src/structure/profiles/built-in-profiles.js";
import type { StructureProfile } from "../../src/structure/profiles/profile.js";
import { repairConversation } from "../../src/structure/repair-conversation.js";
import { validateConversation } from "../../src/structure/validate.js";
import { nativeAnswers } from "../support/native-answers.js";

const said = { text: "I look.", thought: "It may be cold.", args: { place: "Kiel", days: [1, 2] } };
const sources = Object.keys(nativeAnswers);
const native = (source: string) => nativeAnswers[source]!(structuredClone(said));
const profiles = Object.keys(builtInProfiles) as BuiltInProfile[];

function conversation(answer: AIMessage): BaseMessage[] {
  const results = callIdsOf(answer).map((id) => new ToolMessage({ content: "4", tool_call_id: id, name: "lookup" }));
  return [new HumanMessage("q"), answer, ...results];
}

function found(messages: readonly BaseMessage[], profile: BuiltInProfile | StructureProfile) {
  return validateConversation(messages, { profile }).filter(({ rule }) => rule === "S35");
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

it.each(sources)("says nothing about an answer as its adapter made it: %s", (source) => {
  expect(profiles.flatMap((profile) => found(conversation(native(source)), profile))).toEqual([]);
});

it("reads the arguments of a streamed call from all pieces of their text", () => {
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
  const messages = conversation(new AIMessage({ content: streamed as never, tool_calls: calls }));
  expect(found(messages, "anthropic")).toEqual([]);
  streamed.splice(1, 2, piece(0, '{"place":"Bonn"}'));
  const changed = conversation(new AIMessage({ content: streamed as never, tool_calls: calls }));
  expect(found(changed, "anthropic")).toHaveLength(1);
});

it("finds a change of any one copy, and leaves only the calls", () => {
  const strict: StructureProfile = { name: "strict", rules: { S35: "error" } };
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
      const messages = conversation(answer);
      expect(found(messages, strict)).toMatchObject([{ index: 1, severity: "error" }]);
      const { messages: repaired, repairs } = repairConversation(messages, { profile: strict });
      expect(repairs).toMatchObject([{ rule: "S35", index: 1, action: "changed" }]);
      expect(found(repaired, strict)).toEqual([]);
      expect(callsOf(repaired[1]!)).toEqual(callsOf(messages[1]!));
      expect(copiesIn(repaired[1] as AIMessage)).toEqual([]);
      changes += 1;
    }),
  );
  expect(changes).toBeGreaterThan(0);
});

it("finds an error where the adapter sends the changed copy, and mends it there only", () => {
  const answer = native("openai responses");
  const output = answer.response_metadata["output"] as Copy[];
  output.filter(({ type }) => type === "function_call").forEach((item) => (item["name"] = "find"));
  const messages = conversation(answer);
  const severities = adapters.map((adapter) => [adapter, found(messages, adapter)[0]?.severity]);
  expect(severities.filter(([, severity]) => severity === "error").map(([adapter]) => adapter)).toEqual([
    "openai-responses",
    "neutral",
  ]);
  const { messages: repaired } = repairConversation(messages, { profile: "openai-responses" });
  const { response_metadata: metadata, tool_calls: calls } = repaired[1] as AIMessage;
  expect([metadata["output"], calls!.map(({ name }) => name)]).toEqual([undefined, ["lookup", "lookup"]]);
});

it("mends what differs once a form has left out one of two blocks of a call", () => {
  const called = { id: "c1", name: "lookup", args: { q: 1 } };
  const content = [
    { type: "functionCall", functionCall: { name: "lookup", args: {} } },
    { ...called, type: "tool_call" },
  ];
  const fields = { content, response_metadata: { output_version: "v1" }, tool_calls: [called] };
  const broken = [{ id: "c1", name: "lookup", args: '{"q": "tru' }];
  const answer = new AIMessage({ ...fields, invalid_tool_calls: broken } as never);
  const { messages } = repairConversation([new HumanMessage("q"), answer], { profile: "google-genai" });
  expect(found(messages, "google-genai")).toEqual([]);
});

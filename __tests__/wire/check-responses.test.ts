import { checkWire } from "../../testing/wire/check-wire.js";
import { ProviderMemory } from "../../testing/wire/provider-memory.js";

// The valid requests follow the examples of OpenAI's guides to function calling and reasoning.
const user = { role: "user", content: "What is the weather in Paris?" };
const thought = { type: "reasoning", id: "rs_1", summary: [] };
const call = (id: string, item = `fc_${id}`) => ({
  type: "function_call",
  id: item,
  call_id: id,
  name: "get_weather",
  arguments: '{"location":"Paris"}',
});
const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "15" });
const said = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  content: [{ type: "output_text", text: "15 degrees" }],
};

function rulesOf(input: unknown, rest: object = {}, memory?: ProviderMemory): string[] {
  const found = checkWire("openai-responses", { model: "gpt-5.5", input, ...rest }, memory && { memory });
  return found.map(({ rule }) => rule.replace("openai-responses/", ""));
}

it.each<[string, unknown, object?]>([
  ["a text", "Hi"],
  ["a question", [user]],
  ["a call behind its thought", [user, thought, call("call_1"), output("call_1")]],
  ["parallel calls in any order", [user, call("a"), call("b"), output("b"), output("a")]],
  ["an answer", [user, thought, said, user]],
  ["an encrypted thought", [user, { ...thought, encrypted_content: "gAAAA" }, said, user], { store: false }],
  ["an output with the call in a response before it", [output("a")], { previous_response_id: "resp_1" }],
  ["a search", [user, { type: "web_search_call", id: "ws_1", status: "completed" }, said, user]],
  ["a picture", [{ role: "user", content: [{ type: "input_image", image_url: "https://example.com/a.png" }] }]],
])("OpenAI's Responses accept %s", (_, input, rest = {}) => {
  expect(rulesOf(input, rest)).toEqual([]);
});

it.each<[string, string, unknown, object?]>([
  ["no-input", "nothing", []],
  ["item-type", "an item of another provider", [user, { type: "thinking" }]],
  ["role", "an unknown role", [{ role: "tool", content: "x" }]],
  ["part-type", "a part of chat completions", [{ role: "user", content: [{ type: "text", text: "x" }] }]],
  ["part-form", "a text as a picture", [{ role: "user", content: [{ type: "input_image", image_url: "[cut]" }] }]],
  [
    "part-form",
    "a text as a screenshot",
    [
      { type: "computer_call", id: "cu_1", call_id: "a", action: {} },
      { type: "computer_call_output", call_id: "a", output: { type: "input_image", image_url: "[input_image]" } },
    ],
  ],
  ["item-form", "arguments that are no text", [user, { ...call("a"), arguments: {} }, output("a")]],
  ["item-form", "a thought without summary", [user, { type: "reasoning", id: "rs_1" }, said]],
  ["item-id", "a call id as the item's id", [user, call("call_1", "call_1"), output("call_1")]],
  ["same-item", "an item twice", [user, said, user, said]],
  ["same-call-id", "a call id twice", [user, call("a", "fc_1"), call("a", "fc_2"), output("a")]],
  ["call-without-output", "an open call", [user, call("a"), user]],
  ["output-without-call", "an output of nothing", [user, output("a")]],
  ["call-without-output", "an open call of a shell", [user, { type: "shell_call", call_id: "a" }, user]],
  [
    "part-type",
    "a text of another kind in an output",
    [user, call("a"), { ...output("a"), output: [{ type: "text" }] }],
  ],
  ["tool-name", "a name with a space", [user, { ...call("a"), name: "get weather" }, output("a")]],
  ["thought-alone", "a thought that nothing follows", [user, thought, user]],
  ["thought-not-stored", "a thought that is not stored", [user, thought, said], { store: false }],
  ["thought-not-stored", "a thought with neither id nor content", [user, { ...thought, id: undefined }, said]],
])("OpenAI's Responses refuse (%s) %s", (rule, _, input, rest = {}) => {
  expect(rulesOf(input, rest)).toEqual([rule]);
});

it("refuse ids beyond 64 characters", () => {
  const id = "x".repeat(65);
  expect(rulesOf([user, call(id, "fc_1"), output(id)])).toEqual(["call-id", "call-id"]);
});

describe("with what the provider remembers", () => {
  const memory = new ProviderMemory();
  memory.noteItem("rs_1", { isStored: true });
  memory.noteItem("rs_2", { isStored: false });
  memory.noteItem("fc_a", { isStored: true, thought: "rs_1" });
  memory.noteProof("gAAAA");

  it.each<[string, unknown[], string[]]>([
    ["an item behind its thought", [user, thought, call("a"), output("a")], []],
    ["an item without its thought", [user, call("a"), output("a")], ["item-without-thought"]],
    ["an item without its thought and its id", [user, { ...call("a"), id: undefined }, output("a")], []],
    ["a thought of an account that stores nothing", [user, { ...thought, id: "rs_2" }, said], ["thought-not-stored"]],
    ["its own encrypted thought", [user, { ...thought, id: "rs_2", encrypted_content: "gAAAA" }, said], []],
    ["a foreign thought", [user, { ...thought, encrypted_content: "x" }, said], ["foreign-thought"]],
  ])("%s", (_, input, rules) => {
    expect(rulesOf(input, {}, memory)).toEqual(rules);
  });
});

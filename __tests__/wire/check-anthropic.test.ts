import { checkWire } from "../../testing/wire/check-wire.js";
import { placeThoughts } from "../../testing/wire/anthropic/prefix.js";
import { ProviderMemory } from "../../testing/wire/provider-memory.js";

// The valid requests follow the examples of platform.claude.com: Messages, tool use, extended and preserved thinking.
const user = { role: "user", content: "What is the weather in San Francisco?" };
const thought = { type: "thinking", thinking: "I should look.", signature: "EqQBCgIYAh" };
const use = (id: string) => ({ type: "tool_use", id, name: "get_weather", input: { location: "San Francisco, CA" } });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "15 degrees" });
const says = (...content: object[]) => ({ role: "assistant", content });
const told = (...content: object[]) => ({ role: "user", content });
const text = (value: string) => ({ type: "text", text: value });
const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "weather" } };
const marked = (ttl?: string) => ({ ...text("x"), cache_control: { type: "ephemeral", ...(ttl && { ttl }) } });
const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };

function rulesOf(messages: unknown, rest: object = {}, memory?: ProviderMemory): string[] {
  const body = { model: "claude-sonnet-5-5", max_tokens: 1024, messages, ...rest };
  return checkWire("anthropic", body, memory && { memory }).map(({ rule }) => rule.replace("anthropic/", ""));
}

it.each<[string, object[], object?]>([
  ["a question", [user]],
  ["a system text as blocks", [user], { system: [{ ...text("Be brief."), cache_control: { type: "ephemeral" } }] }],
  ["a call behind a thought, and its result", [user, says(thought, use("toolu_1")), told(result("toolu_1"))]],
  ["parallel calls", [user, says(use("a"), use("b")), told(result("b"), result("a"), text("And tomorrow?"))]],
  ["a search of the service", [user, says(search, found, text("Sunny.")), user]],
  ["a picture", [told({ type: "image", source: { type: "base64", media_type: "image/png", data: "iVBOR" } })]],
  ["a redacted thought", [user, says({ type: "redacted_thinking", data: "EmwKAhgB" }, text("Sunny.")), user]],
  ["two questions in a row", [user, user]],
  ["the beginning of an answer", [user, says(text("It is"))], { model: "claude-sonnet-4-20250514" }],
  ["a late system message behind the question", [user, { role: "system", content: "Be brief." }]],
  ["four marks", [told(marked("1h"), marked(), marked())], { system: [marked("1h")] }],
])("Anthropic accepts %s", (_, messages, rest = {}) => {
  expect(rulesOf(messages, rest)).toEqual([]);
});

it.each<[string, string, object[], object?]>([
  ["no-messages", "no messages", []],
  ["first-message", "an answer first", [says(text("Hi")), user]],
  ["role", "an unknown role", [user, { role: "tool", content: "x" }]],
  ["cache-marks", "five marks", [told(marked(), marked(), marked(), marked())], { tools: [marked()] }],
  ["cache-marks", "a fifth for the end", [told(marked(), marked(), marked(), marked())], marked()],
  ["cache-order", "an hour behind five minutes", [told(marked(), marked("1h"))]],
  ["max-tokens", "no limit", [user], { max_tokens: undefined }],
  ["empty-content", "an empty message", [{ role: "user", content: "" }]],
  ["blank-text", "a blank text", [told(text("  "))]],
  ["block-type", "a block of another provider", [user, says({ type: "reasoning", reasoning: "x" }, text("a")), user]],
  ["block-form", "arguments as text", [user, says({ ...use("a"), input: "{}" }), told(result("a"))]],
  ["block-form", "a picture without its source", [told({ type: "image", url: "https://example.com/a.png" })]],
  ["call-id", "an id with a colon", [user, says(use("functions.x:0")), told(result("functions.x:0"))]],
  ["call-without-result", "an open call", [user, says(use("a")), user]],
  ["call-without-result", "one of two results", [user, says(use("a"), use("b")), told(result("a"))]],
  ["result-without-call", "a result of nothing", [user, says(text("a")), told(result("a"))]],
  ["result-without-call", "a result first", [told(result("a"))]],
  ["two-results", "two results", [user, says(use("a")), told(result("a"), result("a"))]],
  ["result-not-first", "text before a result", [user, says(use("a")), told(text("x"), result("a"))]],
  ["same-id", "an id twice", [user, says(use("a")), told(result("a")), says(use("a")), told(result("a"))]],
  ["unsigned-thought", "no signature", [user, says({ type: "thinking", thinking: "x" }, text("a")), user]],
  [
    "foreign-thought",
    'the signature "undefined"',
    [user, says({ ...thought, signature: "undefined" }, text("a")), user],
  ],
  ["thought-at-end", "a thought at the end", [user, says(text("a"), thought), user]],
  ["server-tool-pair", "a search without its result", [user, says(search, text("a")), user]],
  ["server-tool-pair", "a result without its search", [user, says(found, text("a")), user]],
  ["prefill", "the beginning of an answer", [user, says(text("It is"))]],
  ["trailing-space", "space at the end", [user, says(text("It is "))], { model: "claude-sonnet-4-20250514" }],
  ["late-system", "a system message in front of a question", [user, { role: "system", content: "s" }, user]],
  ["late-system", "one to an older model", [user, { role: "system", content: "s" }], { model: "claude-sonnet-4-5" }],
  [
    "first-thought",
    "a turn that begins without its thought",
    [user, says(use("a")), told(result("a"))],
    { model: "claude-sonnet-4-20250514", thinking: { type: "enabled", budget_tokens: 1024 } },
  ],
])("Anthropic refuses (%s) %s", (rule, _, messages, rest = {}) => {
  expect(rulesOf(messages, rest)).toEqual([rule]);
});

describe("a bound thought", () => {
  const body = { model: "claude-sonnet-5-5", max_tokens: 1, system: "s", tools: [{ name: "get_weather" }] };
  const memory = new ProviderMemory();
  memory.noteProof(thought.signature, placeThoughts({ ...body, messages: [user] }).end);
  const later = [user, says(thought, use("a")), told(result("a"))];

  it("passes behind the prefix that it was made to, whatever is marked for the cache", () => {
    const marked = [{ role: "user", content: [{ ...text(user.content), cache_control: { type: "ephemeral" } }] }];
    expect(rulesOf(later, body, memory)).toEqual([]);
    expect(rulesOf([...marked, ...later.slice(1)], body, memory)).toEqual([]);
  });

  it.each<[string, object[], object]>([
    ["another system text", later, { system: "t" }],
    ["another tool", later, { tools: [] }],
    ["a message cut off", [told(text("What?")), ...later.slice(1)], {}],
    ["a message put in front", [user, ...later], {}],
  ])("is refused behind %s", (_, messages, change) => {
    expect(rulesOf(messages, { ...body, ...change }, memory)).toEqual(["bound-thought"]);
  });

  it("is not compared by models before the preserved thinking, and where the request says so", () => {
    const drops = { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } };
    expect(rulesOf(later, { ...body, system: "t", model: "claude-opus-4-8" }, memory)).toEqual([]);
    expect(rulesOf(later, { ...body, system: "t", ...drops }, memory)).toEqual([]);
  });

  it("is refused if the provider did not make it", () => {
    expect(rulesOf([user, says({ ...thought, signature: "x" }, text("a")), user], body, memory)).toEqual([
      "foreign-thought",
    ]);
  });
});

it("names the place and the source of a violation, and no text", () => {
  const [violation] = checkWire("anthropic", { model: "m", max_tokens: 1, messages: [user, says(use("a")), user] });
  expect(violation).toEqual({
    rule: "anthropic/call-without-result",
    path: "messages[1]",
    message: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a.",
    source: expect.stringMatching(/^https:\/\//),
  });
});

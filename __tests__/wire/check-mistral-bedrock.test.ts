import { checkWire } from "../../testing/wire/check-wire.js";
import { ProviderMemory } from "../../testing/wire/provider-memory.js";

describe("Mistral", () => {
  // The valid requests follow the examples of docs.mistral.ai; the rules are those of mistral-common's validator.
  const user = { role: "user", content: "What is the status of T1001?" };
  const call = (id: string, name = "payment_status") => ({ id, function: { name, arguments: '{"id":"T1001"}' } });
  const calls = (...ids: string[]) => ({ role: "assistant", tool_calls: ids.map((id) => call(id)) });
  const result = (id: string) => ({ role: "tool", name: "payment_status", content: "paid", tool_call_id: id });
  const said = { role: "assistant", content: "It is paid." };
  const rulesOf = (messages: unknown) =>
    checkWire("mistral", { model: "mistral-large-latest", messages }).map(({ rule }) => rule.replace("mistral/", ""));

  it.each<[string, object[]]>([
    ["a question", [user]],
    ["a system message", [{ role: "system", content: "Be brief." }, user]],
    ["a call and its result", [user, calls("D681PevKs"), result("D681PevKs")]],
    ["parallel calls", [user, calls("D681PevKs", "aaaaaaaaa"), result("aaaaaaaaa"), result("D681PevKs")]],
    ["a prefix", [user, { ...said, prefix: true }]],
    ["two answers in a row", [user, said, said, user]],
    [
      "parts",
      [
        {
          role: "user",
          content: [
            { type: "text", text: "Hi" },
            { type: "image_url", image_url: "https://a" },
          ],
        },
      ],
    ],
  ])("accepts %s", (_, messages) => {
    expect(rulesOf(messages)).toEqual([]);
  });

  it.each<[string, string, object[]]>([
    ["no-messages", "nothing", []],
    ["role", "an unknown role", [{ role: "developer", content: "x" }, user]],
    ["order", "a system message behind an answer", [user, said, { role: "system", content: "s" }, user]],
    ["user-after-tool", "a question behind a result", [user, calls("aaaaaaaaa"), result("aaaaaaaaa"), user]],
    ["last-message", "an answer at the end", [user, said]],
    ["empty-answer", "an empty answer", [user, { role: "assistant", content: "" }, user]],
    ["call-count", "an open call", [user, calls("aaaaaaaaa"), user]],
    ["result-without-call", "a result of nothing", [user, said, result("aaaaaaaaa")]],
    ["call-id", "an id of another provider", [user, calls("call_1"), result("call_1")]],
    ["tool-name", "a name with a space", [user, { role: "assistant", tool_calls: [call("aaaaaaaaa", "a b")] }]],
    ["chunk-type", "a part of another provider", [{ role: "user", content: [{ type: "input_text", text: "x" }] }]],
    [
      "chunk-form",
      "a thought as text",
      [user, { role: "assistant", content: [{ type: "thinking", thinking: "x" }] }, user],
    ],
  ])("refuses (%s) %s", (rule, _, messages) => {
    expect(rulesOf(messages)).toContain(rule);
  });
});

describe("Bedrock's Converse", () => {
  // The valid requests follow the examples of the AWS documentation: Converse, tool use, reasoning.
  const user = { role: "user", content: [{ text: "What is the most popular song on WZPZ?" }] };
  const use = (toolUseId: string) => ({ toolUse: { toolUseId, name: "top_song", input: { sign: "WZPZ" } } });
  const result = (toolUseId: string) => ({
    toolResult: { toolUseId, content: [{ json: { song: "Elemental Hotel" } }] },
  });
  const says = (...content: object[]) => ({ role: "assistant", content });
  const told = (...content: object[]) => ({ role: "user", content });
  const thought = { reasoningContent: { reasoningText: { text: "I should look.", signature: "EqQB" } } };
  const toolConfig = { tools: [{ toolSpec: { name: "top_song" } }] };
  const rulesOf = (messages: unknown, body: object = { toolConfig }, memory?: ProviderMemory) =>
    checkWire("bedrock", { messages, ...body }, { model: "anthropic.claude-sonnet-4", ...(memory && { memory }) }).map(
      ({ rule }) => rule.replace("bedrock/", ""),
    );

  it.each<[string, object[]]>([
    ["a question", [user]],
    [
      "a call behind a thought",
      [user, says(thought, use("tooluse_kZJMlvQmRJ6eAyJE5GIl7Q")), told(result("tooluse_kZJMlvQmRJ6eAyJE5GIl7Q"))],
    ],
    ["parallel calls", [user, says(use("a"), use("b")), told(result("b"), result("a"))]],
    ["a mark for the cache", [told({ text: "x" }, { cachePoint: { type: "default" } })]],
    ["a picture", [told({ image: { format: "png", source: { bytes: "iVBOR" } } })]],
  ])("accepts %s", (_, messages) => {
    expect(rulesOf(messages)).toEqual([]);
  });

  it.each<[string, string, object[], object?]>([
    ["no-messages", "nothing", []],
    ["first-message", "an answer first", [says({ text: "a" }), user]],
    ["alternation", "two questions in a row", [user, user]],
    ["last-message", "an answer at the end", [user, says({ text: "a" })]],
    ["empty-content", "an empty answer", [user, says(), user]],
    ["blank-text", "a blank text", [user, says({ text: " " }), user]],
    ["block-form", "a block of another provider", [told({ type: "text" })]],
    ["block-form", "a picture without its format", [told({ image: { source: { bytes: "x" } } })]],
    ["call-without-result", "an open call", [user, says(use("a")), user]],
    ["call-without-result", "a call at the end", [user, says(use("a"))]],
    ["result-without-call", "a result of nothing", [user, says({ text: "a" }), told(result("a"))]],
    ["same-id", "an id twice", [user, says(use("a"), use("a")), told(result("a"), result("a"))]],
    ["call-id", "an id with a colon", [user, says(use("f:0")), told(result("f:0"))]],
    ["no-tools", "calls without tools", [user, says(use("a")), told(result("a"))], {}],
    [
      "unsigned-thought",
      "no signature",
      [user, says({ reasoningContent: { reasoningText: { text: "x" } } }, { text: "a" }), user],
    ],
    ["thought-at-end", "a thought at the end", [user, says({ text: "a" }, thought), user]],
  ])("refuses (%s) %s", (rule, _, messages, body = { toolConfig }) => {
    expect(rulesOf(messages, body)).toContain(rule);
  });

  it("refuses a thought that the provider did not make", () => {
    expect(rulesOf([user, says(thought, { text: "a" }), user], {}, new ProviderMemory())).toEqual(["foreign-thought"]);
  });
});

import { checkChatCompletionRequest } from "../../testing/openai-server/check-request.js";

const user = { role: "user", content: "q" };
const call = (id: unknown, changes: object = {}) => ({
  id,
  type: "function",
  function: { name: "lookup", arguments: "{}", ...changes },
});
const calling = (...ids: string[]) => ({ role: "assistant", content: null, tool_calls: ids.map((id) => call(id)) });
const result = (id: unknown) => ({ role: "tool", tool_call_id: id, content: "r" });
const check = (messages: unknown, rest: object = {}) => checkChatCompletionRequest({ model: "m", messages, ...rest });
const asked = (content: unknown) => [{ role: "user", content }];
const answered = (fields: object) => [user, { role: "assistant", ...fields }];
const missing = (name: string) => `Missing required parameter: '${name}'.`;
const empty = (name: string) => `Invalid '${name}': empty array.`;

describe("checkChatCompletionRequest accepts", () => {
  it.each<[string, object[]]>([
    ["a question", [user]],
    [
      "system messages anywhere, and none of the user",
      [
        { role: "system", content: "s" },
        { role: "developer", content: "d" },
      ],
    ],
    ["two questions in a row and an answer at the end", [user, user, { role: "assistant", content: "a" }]],
    ["parallel calls with results in any order", [user, calling("a", "b"), result("b"), result("a"), user]],
    ["an id that a later message uses again", [user, calling("a"), result("a"), calling("a"), result("a")]],
    [
      "text and pictures",
      [
        {
          role: "user",
          content: [
            { type: "text", text: "t" },
            { type: "image_url", image_url: { url: "https://example.com" } },
          ],
        },
      ],
    ],
    [
      "empty texts",
      [
        { role: "user", content: "" },
        { role: "assistant", content: "" },
      ],
    ],
    ["names", [{ ...user, name: "bob_1" }]],
    [
      "arguments that are no JSON, as long as they are a text",
      [user, { ...calling(), tool_calls: [call("a", { arguments: "{" })] }, result("a")],
    ],
    ["a refusal without content", [user, { role: "assistant", refusal: "no" }]],
  ])("%s", (_, messages) => {
    expect(check(messages)).toBeUndefined();
  });
});

describe("checkChatCompletionRequest refuses", () => {
  it.each<[string, unknown, ...string[]]>([
    ["no messages", [], empty("messages"), "messages", "empty_array"],
    [
      "messages that are no list",
      "hi",
      "Invalid type for 'messages': expected an array of objects, but got a string instead.",
    ],
    ["an unknown role", [{ role: "human", content: "q" }], "Invalid value: 'human'. Supported values are: 'system',"],
    ["a missing role", [{ content: "q" }], missing("messages[0].role")],
    ["null content", asked(null), "Invalid value for 'content': expected a string, got null.", "messages.[0].content"],
    [
      "an answer of nothing",
      [user, { role: "assistant" }],
      "Invalid value for 'content': expected a string, got null.",
      "messages.[1].content",
    ],
    ["an empty list as content", asked([]), empty("messages[0].content")],
    ["content of another type", asked(1), "expected one of a string or array of objects, but got an integer"],
    [
      "a foreign content part",
      answered({ content: [{ type: "tool_use" }] }),
      "Invalid value: 'tool_use'. Supported values are: 'text' and 'refusal'.",
    ],
    [
      "a picture from a tool",
      [user, calling("a"), { ...result("a"), content: [{ type: "image_url", image_url: { url: "u" } }] }],
      "messages[2].content[0].type",
    ],
    ["a part without text", asked([{ type: "text" }]), missing("messages[0].content[0].text")],
    ["a part whose text is null", asked([{ type: "text", text: null }]), "invalid_type"],
    ["a part without a type", asked([{}]), missing("messages[0].content[0].type")],
    [
      "a picture without address",
      asked([{ type: "image_url", image_url: {} }]),
      "messages[0].content[0].image_url.url",
    ],
    [
      "an odd name",
      [{ ...user, name: "Zoë Q." }],
      "the pattern '^[a-zA-Z0-9_-]+$'",
      "messages[0].name",
      "invalid_value",
    ],
    ["an empty name", [{ ...user, name: "" }], "empty_string"],
    ["a long name", [{ ...user, name: "n".repeat(65) }], "string_above_max_length"],
    ["an empty list of calls", answered({ content: "a", tool_calls: [] }), empty("messages[1].tool_calls")],
    ["calls that are no list", answered({ content: "a", tool_calls: {} }), "invalid_type", "messages[1].tool_calls"],
    [
      "a call id of 41 characters",
      [user, calling("x".repeat(41))],
      "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40",
      "string_above_max_length",
    ],
    ["a call without id", answered({ tool_calls: [call(undefined)] }), missing("messages[1].tool_calls[0].id")],
    [
      "a call of another kind",
      answered({ tool_calls: [{ ...call("a"), type: "tool_call" }] }),
      "messages[1].tool_calls[0].type",
    ],
    [
      "a function without name",
      answered({ tool_calls: [call("a", { name: "" })] }),
      "Invalid 'messages[1].tool_calls[0].function.name': empty string.",
    ],
    ["an odd function name", answered({ tool_calls: [call("a", { name: "look up" })] }), "invalid_value"],
    [
      "arguments that are an object",
      answered({ tool_calls: [call("a", { arguments: {} })] }),
      "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
    ],
    [
      "a result without a call",
      [user, result("a")],
      "must be a response to a preceeding message with 'tool_calls'",
      "messages.[1].role",
    ],
    [
      "a result behind an answer",
      [user, calling("a"), result("a"), { role: "assistant", content: "a" }, result("a")],
      "messages.[4].role",
    ],
    ["a result of another call", [user, calling("a"), result("a"), result("b")], "messages.[3].tool_call_id"],
    ["a result without id", [user, calling("a"), result(undefined)], missing("messages[2].tool_call_id")],
    [
      "calls without results",
      [user, calling("a", "b"), user],
      "did not have response messages: a, b",
      "messages.[2].role",
    ],
    ["calls with results in part", [user, calling("a", "b"), result("b"), user], "did not have response messages: a"],
    ["a late result", [user, calling("a"), user, result("a")], "messages.[2].role"],
    ["an open call at the end", [user, calling("a")], "did not have response messages: a", "messages"],
    [
      "two calls with one id",
      [user, calling("a", "a"), result("a")],
      "Duplicate value for 'tool_call_id' of a in message[1]",
    ],
    ["a message that is no object", [7], "invalid_type"],
  ])("%s", (_, messages, ...says) => {
    const { type, ...refusal } = check(messages)!;
    expect(type).toBe("invalid_request_error");
    for (const part of says) {
      expect(Object.values(refusal)).toContainEqual(expect.stringContaining(part));
    }
  });

  it.each<[string, unknown, string]>([
    ["no body", undefined, "could not parse the JSON body"],
    ["no model", { messages: [user] }, "you must provide a model parameter"],
    ["no list of messages", { model: "m" }, missing("messages")],
    ["an empty list of tools", { model: "m", messages: [user], tools: [] }, "[] is too short - 'tools'"],
    [
      "a tool with an odd name",
      { model: "m", messages: [user], tools: [{ type: "function", function: { name: "a b" } }] },
      "tools[0].function.name",
    ],
    ["a tool without a name", { model: "m", messages: [user], tools: [{}] }, missing("tools[0].function.name")],
  ])("a request with %s", (_, body, text) => {
    expect(checkChatCompletionRequest(body)?.message).toContain(text);
  });
});

import { ConfigurationError } from "../../src/base/errors.js";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import type { ContentPart, OpenAIMessage } from "../../src/formats/openai/message.js";

const timestamp = "2026-01-31T12:00:00.000Z";
const call = (id: string, text = '{"city":"NYC"}') => ({
  id,
  type: "function" as const,
  function: { name: "get_weather", arguments: text },
});
const image: ContentPart[] = [
  { type: "text", text: "What's in this image?" },
  { type: "image_url", image_url: { url: "https://example.com/menu.jpg" } },
];

beforeEach(() => void jest.useFakeTimers({ now: new Date(timestamp) }));
afterEach(() => void jest.useRealTimers());

function weather(): MessageHistory {
  const history = new MessageHistory();
  history.addMessage("user", "What is the weather?");
  history.addToolCall([call("call_123")]);
  history.addToolResponse("call_123", "Temperature: 72°F", { name: "get_weather" });
  history.addMessage("assistant", "It is 72°F.");
  return history;
}

function refusalOf(action: () => unknown): ConfigurationError {
  try {
    action();
  } catch (error) {
    if (ConfigurationError.isInstance(error)) {
      return error;
    }
    throw error;
  }
  throw new Error("was accepted");
}

describe("MessageHistory", () => {
  it("returns messages by index from both ends, and slices like an array", () => {
    const history = weather();
    expect([history.at(0)?.role, history.at(-1)?.role, history.at(-2)?.role, history.at(4), history.at(-5)]).toEqual([
      "user",
      "assistant",
      "tool",
      undefined,
      undefined,
    ]);
    expect(history.slice(1, 3).map(({ role }) => role)).toEqual(["assistant", "tool"]);
    expect(history.slice(-1)).toEqual([history.getLastMessage()]);
    expect(history.slice()).toEqual([...history]);
  });

  it("returns what was added since a mark, also after clear", () => {
    const history = weather();
    const mark = history.mark();
    expect(history.since(mark)).toEqual([]);
    history.addSimulatedCalls([{ id: "x", name: "f", arguments: {}, result: 1 }]);
    expect(history.since(mark).map(({ role }) => role)).toEqual(["assistant", "tool"]);
    expect(history.since(0)).toEqual(history.toList());
    history.clear();
    history.addMessage("user", "new");
    expect(history.since(mark).map(({ content }) => content)).toEqual(["new"]);
    expect(refusalOf(() => history.since(99)).option).toBe("mark");
  });
});

describe("the request format", () => {
  it("has no metadata or timestamps, and no content if there was none", () => {
    expect(weather().toOpenAIFormat()).toEqual([
      { role: "user", content: "What is the weather?" },
      { role: "assistant", tool_calls: [call("call_123")] },
      { role: "tool", content: "Temperature: 72°F", name: "get_weather", tool_call_id: "call_123" },
      { role: "assistant", content: "It is 72°F." },
    ]);
    expect(Object.keys(weather().toOpenAIFormat()[1]!)).toEqual(["role", "tool_calls"]);
  });

  it("includes refusals, the id of audio and old function calls", () => {
    const history = new MessageHistory([
      { role: "assistant", content: null, refusal: "I cannot." },
      {
        role: "assistant",
        audio: { id: "audio_1", data: "AAAA", transcript: "hi" },
        function_call: { name: "f", arguments: "{}" },
      },
    ]);
    expect(history.toOpenAIFormat()).toEqual([
      { role: "assistant", content: null, refusal: "I cannot." },
      {
        role: "assistant",
        audio: { id: "audio_1" },
        function_call: { name: "f", arguments: "{}" },
      },
    ]);
  });

  it("leaves out annotations and reasoning, which the API refuses as input, and keeps them in the history", () => {
    const messages: OpenAIMessage[] = [
      { role: "assistant", content: "4 °C", reasoning_content: "hm", annotations: [{ type: "url_citation" }] },
      { role: "assistant", reasoning_content: "only thought", annotations: [] },
      { role: "assistant", content: null, reasoning_content: "called", tool_calls: [call("a")] },
    ];
    const history = new MessageHistory(messages);
    expect(history.toOpenAIFormat()).toEqual([
      { role: "assistant", content: "4 °C" },
      { role: "assistant", content: "" },
      { role: "assistant", content: null, tool_calls: [call("a")] },
    ]);
    expect(history.toList()).toEqual(messages);
    expect(MessageHistory.fromJSON(JSON.stringify(history)).toList()).toEqual(messages);
    expect(MessageHistory.fromMessages(history.toMessages()).toList()).toEqual(messages);
    expect(history.toMessages()[0]!.additional_kwargs).toMatchObject({ reasoning_content: "hm" });
  });

  it("has no fields that the format does not know and no empty list of calls", () => {
    const odd = { role: "assistant", content: "x", tool_calls: [], weight: 1, langchain: { id: "1" } } as OpenAIMessage;
    const history = new MessageHistory([odd]);
    expect(history.toOpenAIFormat()).toEqual([{ role: "assistant", content: "x" }]);
    expect(history.toList()).toEqual([odd]);
  });
});

it("takes audio under MASEval's name, also from JSON, and sends it under the API's", () => {
  const audio = { data: "AAAA", format: "wav" };
  const content = [
    { type: "text", text: "Listen." },
    { type: "audio", audio },
  ] as never;
  const history = MessageHistory.fromJSON(JSON.stringify([{ role: "user", content }]));
  history.addMessage("user", content);
  const named = [
    { type: "text", text: "Listen." },
    { type: "input_audio", input_audio: audio },
  ];
  expect(history.toOpenAIFormat().map((message) => message.content)).toEqual([named, named]);
  const wrong = [{ role: "user", content: [{ type: "audio", audio: { data: "AAAA" } }] }] as never;
  expect(refusalOf(() => new MessageHistory(wrong)).option).toBe("messages.0.content.0.input_audio.format");
});

describe("copies in, copies out", () => {
  it("is not changed by changing what was passed in", () => {
    const given: OpenAIMessage[] = [
      { role: "user", content: [{ type: "text", text: "a" }], metadata: { deep: { value: 1 } } },
    ];
    const history = new MessageHistory(given);
    const before = history.toList();
    (given[0]!.metadata!["deep"] as { value: number }).value = 2;
    (given[0]!.content as { text: string }[])[0]!.text = "b";
    given.push({ role: "user", content: "alias" });
    expect(history.toList()).toEqual(before);
  });

  it("is not changed by changing what it returned", () => {
    const history = weather();
    const before = JSON.stringify(history);
    const takes = [
      history.toList(),
      history.slice(),
      [...history],
      history.filterByRole("assistant"),
      [history.at(1)!],
      history.toOpenAIFormat(),
      history.since(0),
    ];
    for (const messages of takes as OpenAIMessage[][]) {
      for (const message of messages) {
        message.content = "changed";
        message.tool_calls?.forEach((made) => Object.assign(made, { id: "changed", function: {} }));
      }
    }
    expect(JSON.stringify(history)).toBe(before);
  });
});

describe("timestamps", () => {
  it.each([
    "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00.123456Z",
    "2026-01-31T01:00:00.123456+02:00",
    "2026-01-31T01:00:00-05:30",
    // As Python's isoformat() writes them.
    "2026-01-31T12:00:00",
    "2026-01-31T12:00:00.123456",
    "2026-01-31T12:00",
  ])("are kept as given: %s", (timestamp) => {
    const history = new MessageHistory();
    history.addMessage("user", "Hi", { timestamp });
    history.addToolCall([call("a")], { timestamp });
    history.addToolResponse("a", "", { timestamp });
    const copies = [
      new MessageHistory(history.toList()),
      MessageHistory.fromJSON(JSON.stringify(history)),
      MessageHistory.fromPrompt(history.toPrompt()),
      MessageHistory.fromMessages(history.toMessages()),
    ];
    for (const copy of [history, ...copies]) {
      expect(copy.toList().map((message) => message.timestamp)).toEqual([timestamp, timestamp, timestamp]);
    }
  });

  it.each([
    ...["2026-02-30T12:00:00Z", "2026-13-01", "2025-02-29", "2026-01-31T25:00:00Z", "2026-01-31T12:60:00"],
    ...["2026-01-31T12:00:00+25:00", "2026-01-31 noon", "yesterday", "", "2026", "1769860800", 1769860800],
  ])("are rejected unless they are ISO 8601: %p", (given) => {
    const error = refusalOf(() => new MessageHistory().addMessage("user", "Hi", { timestamp: given as string }));
    expect([error.option, error.message]).toEqual(["timestamp", expect.stringContaining("2026-01-31T12:00:00Z")]);
  });
});

describe("what is refused", () => {
  const history = new MessageHistory();
  const add = (role: unknown, content: unknown, notes: object = {}) =>
    history.addMessage(role as "user", content as string, notes);

  it.each<[string, string, () => unknown]>([
    ["an unknown role", "role", () => add("human", "Hi")],
    ["a result without its call", "role", () => add("tool", "Hi")],
    ["no content", "content", () => add("user", undefined)],
    ["content that is no text", "content", () => add("user", 5)],
    ["an unknown part", "content.1.type", () => add("user", [image[0], { type: "video_url", video_url: {} }])],
    ["an image without a URL", "content.0.image_url.url", () => add("user", [{ type: "image_url", image_url: {} }])],
    [
      "an image by bare URL",
      "content.0.image_url",
      () => add("user", [{ type: "image_url", image_url: "https://example.com" }]),
    ],
    ["a file that is nowhere", "content.0.file", () => add("user", [{ type: "file", file: { filename: "a.pdf" } }])],
    [
      "audio without its format",
      "content.0.input_audio.format",
      () => add("user", [{ type: "input_audio", input_audio: { data: "AA" } }]),
    ],
    ["a name that is no text", "name", () => add("user", "Hi", { name: 1 })],
    ["null for an option", "metadata", () => add("user", "Hi", { metadata: null })],
    ["an unknown option", "nmae", () => add("user", "Hi", { nmae: "ema" })],
    ["metadata that JSON cannot hold", "metadata.when", () => add("user", "Hi", { metadata: { when: new Date() } })],
    ["an assistant message that says nothing", "messages.0.content", () => new MessageHistory([{ role: "assistant" }])],
    ["calls without an id", "toolCalls.0.id", () => history.addToolCall([{ ...call(""), id: "" }])],
    ["calls that are not whole", "toolCalls.0.type", () => history.addToolCall([{ id: "c" } as never])],
    [
      "arguments that are no text",
      "toolCalls.0.function.arguments",
      () => history.addToolCall([call("c", { city: "NYC" } as never)]),
    ],
    [
      "a call without a name",
      "toolCalls.0.function.name",
      () => history.addToolCall([{ id: "c", type: "function", function: { arguments: "{}" } } as never]),
    ],
    ["one id for two calls", "toolCalls.1.id", () => history.addToolCall([call("c"), call("c")])],
    ["no calls", "toolCalls", () => history.addToolCall([])],
    ["a result for no id", "toolCallId", () => history.addToolResponse("", "x")],
    [
      "a role far inside a list",
      "messages.1.role",
      () => new MessageHistory([{ role: "user", content: "a" }, { role: "alien" } as never]),
    ],
    ["messages that are no list", "messages", () => new MessageHistory(5 as never)],
    ["text that is no JSON", "text", () => MessageHistory.fromJSON("{")],
    ["a prompt that is no text", "prompt", () => MessageHistory.fromPrompt(5 as never)],
  ])("%s, with an error that names the parameter", (_, option, action) => {
    expect(refusalOf(action).option).toBe(option);
    expect(history.length).toBe(0);
  });

  it("is reported without message text", () => {
    const secret = "hunter2";
    const errors = [
      () => add("user", { secret }),
      () => add(secret, "x"),
      () => MessageHistory.fromJSON(`[${secret}`),
      () => MessageHistory.fromPrompt(`<message role="user"><fields>${secret}</fields></message>`),
    ];
    for (const action of errors) {
      const error = refusalOf(action);
      expect(`${error.message} ${String(error.cause)}`).not.toContain(secret);
    }
  });

  it("includes circular and endlessly nested metadata", () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    expect(refusalOf(() => add("user", "Hi", { metadata: circular })).message).toContain("is circular");
    const deep = JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`) as unknown;
    expect(refusalOf(() => add("user", "Hi", { metadata: { deep } })).message).toContain("nested deeper");
  });

  it("does not let a key of metadata change an object's prototype", () => {
    const metadata = JSON.parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>;
    const copy = new MessageHistory([{ role: "user", content: "Hi", metadata }]).at(0)!.metadata!;
    expect([Object.keys(copy), "polluted" in copy, JSON.stringify(copy)]).toEqual([
      ["__proto__"],
      false,
      '{"__proto__":{"polluted":true}}',
    ]);
  });
});

describe("simulated calls", () => {
  it("are one assistant message with all calls, then each result with its id", () => {
    const history = new MessageHistory();
    history.addSimulatedCalls([
      {
        id: "0001",
        name: "User-get_user_allergies",
        arguments: { username: "laimonisdumins" },
        result: { allergies: ["peanuts", "gluten"] },
      },
      { id: "0002", name: "User-get_user_allergies", arguments: '{"username":"emavargova"}', result: "none" },
    ]);
    const called = (id: string, text: string) => ({
      id,
      type: "function",
      function: { name: "User-get_user_allergies", arguments: text },
    });
    expect(history.toList()).toEqual([
      {
        role: "assistant",
        tool_calls: [called("0001", '{"username":"laimonisdumins"}'), called("0002", '{"username":"emavargova"}')],
        timestamp,
      },
      {
        role: "tool",
        content: '{"allergies":["peanuts","gluten"]}',
        name: "User-get_user_allergies",
        tool_call_id: "0001",
        timestamp,
      },
      { role: "tool", content: "none", name: "User-get_user_allergies", tool_call_id: "0002", timestamp },
    ]);
  });

  it.each<[string, string, object[]]>([
    ["an id that a call of the history has", "calls.0.id", [{ id: "call_123", name: "f", arguments: {}, result: "" }]],
    [
      "one id for two",
      "calls.1.id",
      [
        { id: "a", name: "f", arguments: {}, result: "" },
        { id: "a", name: "f", arguments: {}, result: "" },
      ],
    ],
    [
      "arguments that are not JSON",
      "calls.0.arguments",
      [{ id: "a", name: "f", arguments: "{'username': 'ema'}", result: "" }],
    ],
    ["no result", "calls.0.result", [{ id: "a", name: "f", arguments: {} }]],
    ["no name", "calls.0.name", [{ id: "a", name: "", arguments: {}, result: "" }]],
    ["no calls", "calls", []],
  ])("with %s are refused, and nothing is added", (_, option, calls) => {
    const history = weather();
    expect(refusalOf(() => history.addSimulatedCalls(calls as never)).option).toBe(option);
    expect(history.length).toBe(4);
  });
});

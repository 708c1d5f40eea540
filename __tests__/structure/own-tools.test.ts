import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { repairConversation, validateConversation } from "../../src/entries/structure.js";
import { captureWire, type WireModel } from "../../testing/wire/capture-wire.js";
import { checkResponses } from "../../testing/wire/openai-responses/check.js";
import { ai, human } from "../support/messages.js";

const model = new ChatOpenAI({ model: "gpt-5.5", apiKey: "none", useResponsesApi: true });
const criteria = { profile: "openai-responses", purpose: "model-input" } as const;

interface Item {
  readonly type: string;
  readonly call_id?: string;
}

const call = (id: string, isCustomTool: boolean) => ({
  ...{ type: "tool_call" as const, id, name: isCustomTool ? "sql" : "lookup", args: { input: "select 1" } },
  ...(isCustomTool && { isCustomTool, call_id: `ctc_${id}` }),
});
const asked = (...calls: ReturnType<typeof call>[]) => new AIMessage({ content: "", tool_calls: calls });
const result = (id: string, kwargs = {}, content: unknown = "1") =>
  new ToolMessage({ content: content as string, tool_call_id: id, name: "sql", additional_kwargs: kwargs });
const png = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
const raw = new AIMessage({
  content: "",
  tool_calls: [call("c1", true)],
  response_metadata: {
    model_provider: "openai",
    output: [{ type: "custom_tool_call", id: "ctc_c1", call_id: "c1", name: "sql", input: "select 1" }],
  },
});
const noted = new AIMessage({
  content: "",
  tool_calls: [call("c1", false)],
  additional_kwargs: { __openai_custom_tool_call_ids__: { c1: "ctc_c1" } },
  response_metadata: { model_provider: "openai" },
});

const action = { type: "screenshot" };
const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" };
const item = { type: "computer_call", id: "cu_1", call_id: "c1", action, pending_safety_checks: [] };
const marked: object = { isComputerTool: true, call_id: "cu_1" };
const called = { type: "tool_call" as const, id: "c1", name: "computer_use", args: { action }, ...marked };
const computer = (fields: object) =>
  new AIMessage({ content: "", tool_calls: [called], ...fields, response_metadata: { model_provider: "openai" } });
const computerRaw = new AIMessage({
  content: "",
  tool_calls: [called],
  additional_kwargs: { reasoning: thought as never, tool_outputs: [item] },
  response_metadata: { model_provider: "openai", output: [thought, item] },
});
const picture = "data:image/png;base64,iVBORw0KGgo=";
const shown = { type: "computer_call_output" };

const extras = (...items: object[]) => ({ reasoning: thought, tool_outputs: items });
const stopped = (...items: object[]) =>
  new AIMessage({
    content: "Done.",
    additional_kwargs: extras(...items),
    response_metadata: { model_provider: "openai" },
  });

/** A raw output with an item of one of OpenAI's own tools beside a text. */
const withItem = (...items: object[]) =>
  new AIMessage({
    content: [{ type: "text", text: "Done." }],
    response_metadata: {
      model_provider: "openai",
      output: [
        ...items,
        { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Done." }] },
      ],
    },
  });

async function sent(messages: readonly BaseMessage[]): Promise<readonly Item[]> {
  const { body } = await captureWire(model as unknown as WireModel, [...messages]);
  const { input } = body as { input: readonly Item[] };
  expect(checkResponses(body as never, { memory: undefined })).toEqual([]);
  return input.filter(({ call_id: id }) => id !== undefined);
}

const free = ["custom_tool_call", "custom_tool_call_output"];
const fixed = ["function_call", "function_call_output"];
const seen = ["computer_call", "computer_call_output"];

it("takes no offence at the result of a function that says that it is none of them", () => {
  const answered = new ToolMessage({ content: "x", tool_call_id: "c1", additional_kwargs: { customTool: false } });
  const asks = new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "t", args: {} }] });
  const messages = [human("q"), asks, answered, ai("a"), human("b")];
  expect(validateConversation(messages, { profile: "openai-responses" })).toEqual([]);
});

describe("the result of a call of one of OpenAI's own kinds of tools", () => {
  const cases: [string, BaseMessage[], string[]][] = [
    ["by a mark of the call", [asked(call("c1", true)), result("c1")], free],
    ["by a raw output", [raw, result("c1")], free],
    ["not by the ids of items, which are left out", [noted, result("c1", { customTool: true })], fixed],
    ["not by a mark of the result alone", [asked(call("c1", false)), result("c1", { customTool: true })], fixed],
    ["where it is missing", [asked(call("c1", true))], free],
    [
      "beside one of a function",
      [asked(call("c1", true), call("c2", false)), result("c2"), result("c1")],
      ["custom_tool_call", "function_call", "function_call_output", "custom_tool_call_output"],
    ],
    [
      "where its id comes again for a function",
      [asked(call("c1", true)), result("c1"), ai("1."), human("And?"), asked(call("c1", false)), result("c1")],
      [...free, ...fixed],
    ],
    ["no item's id is known", [asked({ ...call("c1", true), call_id: undefined as never }), result("c1")], fixed],
    ["a screenshot", [computerRaw, result("c1", shown, picture)], seen],
    ["a screenshot without its mark", [computerRaw, result("c1", {}, picture)], seen],
    ["a screenshot in another form", [computerRaw, result("c1", shown, [png])], seen],
    ["a screenshot by a mark of the call", [computer({}), result("c1", shown, picture)], seen],
    [
      "an item beside its call, without a raw output",
      [computer({ additional_kwargs: extras(item) }), result("c1", shown, picture)],
      fixed,
    ],
    ["no screenshot but a text", [computerRaw, result("c1", shown, "No display.")], fixed],
    ["no screenshot yet", [computerRaw], fixed],
    ["the mark of a screenshot alone", [asked(call("c1", false)), result("c1", shown)], fixed],
    ["a shell, which nobody answers", [withItem({ type: "local_shell_call", id: "lsh_1", call_id: "c1" })], []],
    ["a patch, which nobody answers", [withItem({ type: "apply_patch_call", id: "apc_1", call_id: "c1" })], []],
    ["a shell beside a thought", [stopped({ type: "shell_call", id: "sh_1", call_id: "c1" })], []],
    [
      "a hosted shell",
      [withItem({ type: "shell_call", id: "sh_1", call_id: "c1" }, { type: "shell_call_output", call_id: "c1" })],
      ["shell_call", "shell_call_output"],
    ],
  ];

  it.each(cases)("goes to the Responses API in its form: %s", async (_, messages, types) => {
    const conversation = [human("How many?"), ...messages, human("So?")];
    const repaired = repairConversation(conversation, criteria).messages;
    expect(validateConversation(repaired, criteria).filter(({ severity }) => severity === "error")).toEqual([]);
    expect((await sent(repaired)).map(({ type }) => type)).toEqual(types);
    expect(repairConversation(repaired, criteria)).toEqual({ messages: repaired, repairs: [] });
  });

  it("holds parts that the Responses API reads", async () => {
    const content = [{ type: "text", text: "Two." }, png, { type: "json", json: 2 }];
    const conversation = [human("How many?"), raw, result("c1", {}, content)];
    const output = (await sent(repairConversation(conversation, criteria).messages)).at(-1);
    expect(output).toMatchObject({
      type: "custom_tool_call_output",
      output: [
        { type: "input_text", text: "Two." },
        { type: "input_image", image_url: picture },
        { type: "input_text", text: '{"type":"json","json":2}' },
      ],
    });
  });

  it("is judged anew where the result of the same call's object is another one", () => {
    const errors = (content: string) =>
      validateConversation([human("Look."), computerRaw, result("c1", shown, content)], criteria).filter(
        ({ severity, index }) => severity === "error" && index === 1,
      );
    expect(errors(picture)).toEqual([]);
    expect(errors("No display.")).toHaveLength(1);
    expect(errors(picture)).toEqual([]);
  });

  it("is judged anew where the call of the same message object is another one", () => {
    const same = result("c1", { customTool: true });
    const errors = (isCustomTool: boolean) =>
      validateConversation([human("How many?"), asked(call("c1", isCustomTool)), same], criteria);
    expect(errors(true)).toEqual([]);
    expect(errors(false)).toMatchObject([{ rule: "S27", index: 2 }]);
    expect(errors(true)).toEqual([]);
  });

  it("comes back from a store so that the next request is valid", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    await memory.history("s").addMessages([human("How many?"), asked(call("c1", true)), result("c1"), ai("1.")]);
    let request: readonly BaseMessage[] = [];
    const spy = Object.assign(Object.create(model) as ChatOpenAI, {
      invoke: (messages: BaseMessage[]) => ((request = messages), Promise.resolve(ai("Yes."))),
    });
    await withRedisMemory(spy, { memory, profile: "openai-responses" }).invoke("Sure?", {
      configurable: { sessionId: "s" },
    });
    expect((await sent(request)).map(({ type }) => type)).toEqual(free);
  });
});

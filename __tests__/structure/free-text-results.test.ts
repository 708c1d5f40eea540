import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { repairConversation, validateConversation } from "../../src/entries/structure.js";
import { captureWire, type WireModel } from "../../testing/wire/capture-wire.js";
import { checkResponses } from "../../testing/wire/openai-responses/check.js";

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
const result = (id: string, kwargs = {}) =>
  new ToolMessage({ content: "1", tool_call_id: id, name: "sql", additional_kwargs: kwargs });
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

async function sent(messages: readonly BaseMessage[]): Promise<readonly Item[]> {
  const { body } = await captureWire(model as unknown as WireModel, [...messages]);
  const { input } = body as { input: readonly Item[] };
  expect(checkResponses(body as never, { memory: undefined })).toEqual([]);
  return input.filter(({ call_id: id }) => id !== undefined);
}

const free = ["custom_tool_call", "custom_tool_call_output"];
const fixed = ["function_call", "function_call_output"];

describe("the result of a call of a custom tool, whose argument is free text", () => {
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
      [
        asked(call("c1", true)),
        result("c1"),
        new AIMessage("1."),
        new HumanMessage("And?"),
        asked(call("c1", false)),
        result("c1"),
      ],
      [...free, ...fixed],
    ],
  ];

  it.each(cases)("goes to the Responses API as such: %s", async (_, messages, types) => {
    const conversation = [new HumanMessage("How many?"), ...messages, new HumanMessage("So?")];
    const repaired = repairConversation(conversation, criteria).messages;
    expect(validateConversation(repaired, criteria).filter(({ severity }) => severity === "error")).toEqual([]);
    expect((await sent(repaired)).map(({ type }) => type)).toEqual(types);
    expect(repairConversation(repaired, criteria)).toEqual({ messages: repaired, repairs: [] });
  });

  it("is judged anew where the call of the same message object is another one", () => {
    const same = result("c1", { customTool: true });
    const errors = (isCustomTool: boolean) =>
      validateConversation([new HumanMessage("How many?"), asked(call("c1", isCustomTool)), same], criteria);
    expect(errors(true)).toEqual([]);
    expect(errors(false)).toMatchObject([{ rule: "S29", index: 2 }]);
    expect(errors(true)).toEqual([]);
  });

  it("comes back from a store so that the next request is valid", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    await memory
      .history("s")
      .addMessages([new HumanMessage("How many?"), asked(call("c1", true)), result("c1"), new AIMessage("1.")]);
    let request: readonly BaseMessage[] = [];
    const spy = Object.assign(Object.create(model) as ChatOpenAI, {
      invoke: (messages: BaseMessage[]) => ((request = messages), Promise.resolve(new AIMessage("Yes."))),
    });
    await withRedisMemory(spy, { memory, profile: "openai-responses" }).invoke("Sure?", {
      configurable: { sessionId: "s" },
    });
    expect((await sent(request)).map(({ type }) => type)).toEqual(free);
  });
});

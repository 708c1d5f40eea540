import { ChatAnthropic } from "@langchain/anthropic";
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { stampAnswer, toModel, walkLedger, wired } from "../../src/entries/structure.js";
import { copyMessage } from "../../src/store/codec/stored-record.js";
import { encodeMessage } from "../../src/store/codec/encode-message.js";
import { prefixKey } from "../../src/conversation/structure/ledger.js";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import type { MemoryEvent } from "../../src/entries/index.js";
import { ai, human, system } from "../support/messages.js";

const thought = { type: "thinking", thinking: "hm", signature: "EqQBCgIYAh" };
const text = { type: "text", text: "Hello" };
const question = human("Hi");
const next = human("Bye");
const parts = { system: "Be brief.", tools: [{ name: "a" }] };
const made = new AIMessage({ content: [thought, text], response_metadata: { model_provider: "anthropic" } });
const answer = stampAnswer(made, walkLedger([question], parts).prefix);
const list = [question, answer, next];

it("stamps an answer whose thought is signed, in twelve characters and forty bytes of its record", () => {
  const stamp = answer.response_metadata[prefixKey] as string;
  expect(stamp).toMatch(/^[\w-]{12}$/);
  const sizes = [made, answer].map((message) => encodeMessage(message, { id: "1" }).record.length);
  expect(sizes[1]! - sizes[0]!).toBeLessThanOrEqual(40);
  expect(made.response_metadata).toEqual({ model_provider: "anthropic" });
  const unsigned = new AIMessage({ content: [{ type: "thinking", thinking: "hm" }, text] });
  expect([ai("Hi"), unsigned].map((each) => stampAnswer(each, walkLedger([question]).prefix))).toEqual([
    ai("Hi"),
    unsigned,
  ]);
});

it("knows a tool again in each form in which models take it", () => {
  const schema = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
  const [name, description] = ["lookup", "Looks something up."];
  const forms: Record<string, unknown[]> = {
    "LangChain's": [{ name, description, schema, lc_namespace: ["x"], invoke: () => "" }],
    "OpenAI's": [{ type: "function", function: { name, description, parameters: schema } }],
    "Anthropic's": [{ name, description, input_schema: schema }],
    "Bedrock's": [{ toolSpec: { name, description, inputSchema: { json: schema } } }],
    "that of a bound model": new ChatAnthropic({
      model: "claude-opus-5-5",
      apiKey: "none",
    }).formatStructuredToolToAnthropic([
      { name, description, schema, lc_namespace: ["x"], invoke: () => "" } as never,
    ])!,
  };
  const stamps = Object.values(forms).map((tools) => walkLedger([question], { tools }).prefix.chain);
  expect(new Set(stamps.map((chain) => JSON.stringify(chain))).size).toBe(1);
  const other = [{ name, description: "Looks.", input_schema: schema }];
  expect(walkLedger([question], { tools: other }).prefix.chain).not.toEqual(stamps[0]);
});

it.each<[string, BaseMessage[], object, string | undefined]>([
  ["nothing changed", list, parts, undefined],
  ["it was stored and read", list.map(copyMessage), parts, undefined],
  ["the system prompt is a message", list, { ...parts, system: system("Be brief.") }, undefined],
  ["the system prompt is the first message", [system("Be brief."), ...list], { tools: parts.tools }, undefined],
  [
    "the system prompt has a mark for the cache",
    [
      new SystemMessage({ content: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] }),
      ...list,
    ],
    { tools: parts.tools },
    undefined,
  ],
  [
    "a tool is loaded later",
    list,
    { ...parts, tools: [...parts.tools, { name: "b", defer_loading: true }] },
    undefined,
  ],
  [
    "a mark for the cache moved",
    [new HumanMessage({ content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }] }), answer, next],
    parts,
    undefined,
  ],
  ["the question got a name", [new HumanMessage({ content: "Hi", name: "Ann" }), answer, next], parts, undefined],
  ["the system prompt changed", list, { ...parts, system: "Be kind." }, "system"],
  ["there is no system prompt any more", list, { tools: parts.tools }, "system"],
  ["the tools changed", list, { ...parts, tools: [] }, "tools"],
  ["the question changed", [human("Ho"), answer, next], parts, "messages"],
  ["a message went", [answer, next], parts, "messages"],
  ["a message came", [question, question, answer, next], parts, "messages"],
  ["nobody stamped it", [question, made, next], parts, "unstamped"],
])("knows a thought again where %s", (_, messages, frame, cause) => {
  const walk = walkLedger(messages, frame);
  expect([walk.cause, walk.sent, walk.dropped]).toEqual(cause === undefined ? [undefined, 1, 0] : [cause, 0, 1]);
  expect(walk.firstAt).toBe(cause === undefined ? -1 : messages.findIndex((each) => each.getType() === "ai"));
  expect(JSON.stringify(walk.messages).includes("EqQB")).toBe(cause === undefined);
  expect(JSON.stringify(messages)).toContain("EqQB");
});

it("leaves out the same at each later request, says once that it is new, and keeps what the model thinks since", () => {
  const changed = { ...parts, system: "Be kind." };
  const first = walkLedger(list, changed);
  const again = walkLedger(list, changed);
  expect(again.messages).toEqual(first.messages);
  expect(again.messages[1]).toBe(first.messages[1]);
  expect([first.isNew, again.isNew]).toEqual([true, true]);
  const second = stampAnswer(new AIMessage({ content: [{ ...thought, signature: "Second" }, text] }), first.prefix);
  const later = walkLedger([...list, second, human("And?")], changed);
  expect([later.sent, later.dropped, later.isNew, later.cause]).toEqual([1, 1, false, "system"]);
  expect(later.messages.slice(0, 3)).toEqual(first.messages);
});

it("leaves out thoughts of an answer that was changed between them, and keeps those of one changed behind", () => {
  const second = { ...thought, signature: "Second" };
  const both = new AIMessage({ content: [thought, text, second, { type: "text", text: "Bye" }] });
  const stamped = stampAnswer(both, walkLedger([question]).prefix);
  const edited = (place: number) => {
    const content = (stamped.content as object[]).map((block, at) => (at === place ? { ...block, text: "?" } : block));
    return new AIMessage({ content: content as never, response_metadata: stamped.response_metadata });
  };
  expect([1, 3].map((place) => walkLedger([question, edited(place), next]).sent)).toEqual([0, 2]);
});

it("tells tools apart whose names are the same, and results from each other", () => {
  const call = { id: "c1", name: "a", args: { q: { b: 1, a: 2 } } };
  const step = (content: string) => new ToolMessage({ content, tool_call_id: "c1" });
  const calling = stampAnswer(
    new AIMessage({
      content: [thought, { type: "tool_use", id: "c1", name: "a", input: call.args }],
      tool_calls: [call],
    }),
    walkLedger([question]).prefix,
  );
  const after = stampAnswer(made, walkLedger([question, calling, step("cold")]).prefix);
  const sent = (messages: BaseMessage[]) => walkLedger([...messages, next]).sent;
  expect(sent([question, calling, step("cold"), after])).toBe(2);
  expect(sent([question, calling, step("warm"), after])).toBe(1);
  const reordered = { ...call, args: { q: { a: 2, b: 1 } } };
  const asText = new AIMessage({
    content: [thought, { type: "tool_use", id: "c1", name: "a", input: '{"q":{"a":2,"b":1}}', index: 1 }],
    tool_calls: [reordered],
    response_metadata: calling.response_metadata,
  });
  expect(sent([question, asText, step("cold"), after])).toBe(2);
  const described = (description: string) => ({ type: "function", function: { name: "a", description } });
  const stamped = stampAnswer(made, walkLedger([question], { tools: [described("x")] }).prefix);
  expect(walkLedger([question, stamped], { tools: [described("y")] }).cause).toBe("tools");
});

it("sees a message that was changed in place", () => {
  const mutable = human("Hi");
  const stamped = stampAnswer(made, walkLedger([mutable]).prefix);
  mutable.content = "Ho";
  expect(walkLedger([mutable, stamped, next]).cause).toBe("messages");
});

const content = [
  { type: "thinking", thinking: "hm", signature: "EqQB" },
  { type: "text", text: "Hello" },
];

/** A model of a name that binds its thoughts, which notes what it is sent. */
class NotingModel extends ChatAnthropic {
  readonly sent: BaseMessage[][] = [];

  static override lc_name(): string {
    return "ChatAnthropic";
  }

  override async invoke(messages: never): Promise<AIMessageChunk> {
    this.sent.push([...(messages as BaseMessage[])]);
    return new AIMessageChunk({ id: "m", content, response_metadata: { model_provider: "anthropic" } });
  }

  override async stream(messages: never): Promise<never> {
    this.sent.push([...(messages as BaseMessage[])]);
    const pieces = content.map(
      (block, index) =>
        new AIMessageChunk({
          id: "m",
          content: [{ ...block, index }],
          ...(index === 0 && { response_metadata: { model_provider: "anthropic" } }),
        }),
    );
    return (async function* () {
      yield* pieces;
    })() as never;
  }
}

const prompt = ChatPromptTemplate.fromMessages([["placeholder", "{messages}"]]);

describe("a wired model", () => {
  it("stamps a streamed answer by its last piece", async () => {
    const model = new NotingModel({ model: "claude-opus-5-5", apiKey: "none" });
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await prompt.pipe(wired(model)).stream({ messages: [question] })) {
      const piece = chunk as AIMessageChunk;
      whole = whole === undefined ? piece : whole.concat(piece);
    }
    expect(whole!.content).toHaveLength(2);
    const next = await toModel([question, whole!, human("Bye")], { model });
    expect(next.thinkingDropped).toBe(0);
    expect(next.messages[1]!.content).toEqual(whole!.content);
  });

  it("reports the thoughts that it leaves out, once per change, for the session of the run", async () => {
    const model = new NotingModel({ model: "claude-opus-5-5", apiKey: "none" });
    const events: MemoryEvent[] = [];
    const chain = wired(model, { onEvent: (event) => void events.push(event) });
    const answer = await chain.invoke([question]);
    const config = { configurable: { sessionId: "ann" } };
    await chain.invoke([question, answer, human("Bye")], config);
    expect(events).toEqual([]);
    const changed = [human("Hey"), answer, human("Bye")];
    await chain.invoke(changed, config);
    await chain.invoke(changed, config);
    expect(events).toEqual([
      { type: "thinking_dropped", sessionId: "ann", cause: "messages", firstAt: 1, sent: 0, dropped: 1 },
    ]);
  });
});

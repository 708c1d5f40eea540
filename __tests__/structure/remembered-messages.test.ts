import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { toModel } from "../../src/entries/structure.js";
import { noteSource, sourceOf } from "../../src/messages/sources.js";

const model = new ChatOpenAI({ model: "gpt-4o", apiKey: "none" });
const call = { id: "c1", name: "lookup", args: { q: "x" } };

function conversation(): BaseMessage[] {
  return [
    new HumanMessage("Ask."),
    new AIMessage({ content: [{ type: "text", text: "I look." }], tool_calls: [call] }),
    new ToolMessage({ content: "found x", tool_call_id: "c1", name: "lookup" }),
    new HumanMessage("And now?"),
  ];
}

const changes: Readonly<Record<string, (answer: AIMessage) => void>> = {
  "content of another kind": (answer) => {
    answer.content = [{ type: "thinking", thinking: "Hm.", signature: "S" }, ...answer.content] as never;
  },
  "one more block in its list": (answer) => {
    (answer.content as object[]).push({ type: "tool_use", id: "c1", name: "lookup", input: {} });
  },
  "raw output of a provider": (answer) => {
    answer.response_metadata = { output_version: "v1" };
  },
};

describe("toModel, for messages that it has seen", () => {
  it("returns the same objects again", async () => {
    const given = conversation();
    const first = await toModel(given, { model });
    const second = await toModel(given, { model });
    expect([first.repairs, second.repairs]).toEqual([[], []]);
    expect(second.messages.every((message, index) => message === given[index])).toBe(true);
  });

  it.each(Object.keys(changes))("sees that an answer has got %s", async (name) => {
    const given = conversation();
    expect((await toModel(given, { model })).repairs).toEqual([]);
    changes[name]!(given[1] as AIMessage);
    const again = await toModel(given, { model });
    expect(again.repairs).not.toEqual([]);
    const fresh = conversation();
    changes[name]!(fresh[1] as AIMessage);
    expect(again.repairs).toEqual((await toModel(fresh, { model })).repairs);
  });

  it("reads them anew for another model, and then for the first one again", async () => {
    const given = conversation();
    const claude = new ChatAnthropic({ model: "claude-opus-4-8", apiKey: "none" });
    expect((await toModel(given, { model })).messages[1]).toBe(given[1]);
    expect((await toModel(given, { model: claude })).profile.profile.name).toBe("anthropic");
    expect((await toModel(given, { model })).messages[1]).toBe(given[1]);
  });
});

const stored = {
  content: [{ type: "text", text: "I look." }],
  tool_calls: [{ ...call, args: { q: { deep: ["x"] } } }],
};

function readAgain(): BaseMessage[] {
  const answer = new AIMessage(structuredClone(stored));
  noteSource(answer, stored);
  const given = conversation();
  return [given[0]!, answer, given[2]!, given[3]!];
}

const deepChanges: Readonly<Record<string, (answer: AIMessage) => void>> = {
  ...changes,
  "arguments that are a text": (answer) => {
    answer.tool_calls![0]!.args = '{"q":' as never;
  },
  "a change deep in its arguments": ({ tool_calls: calls }) => {
    (calls![0]!.args["q"] as { deep: string[] }).deep[0] = "y";
  },
  "a name that no tool has": (answer) => {
    answer.tool_calls![0]!.name = "look up";
  },
  "one more call": (answer) => {
    answer.tool_calls!.push({ id: "c1", name: "lookup", args: {} });
  },
  "raw calls": (answer) => {
    answer.additional_kwargs = {
      tool_calls: [{ id: "c2", type: "function", function: { name: "b", arguments: "{}" } }],
    };
  },
};

describe("toModel, for messages that are made of the same stored text as those before", () => {
  it("finds the same about them", async () => {
    const [first, second] = [readAgain(), readAgain()];
    expect(sourceOf(first[1]!)).toBe(stored);
    expect(sourceOf(second[1]!)).toBe(stored);
    expect((await toModel(first, { model })).repairs).toEqual([]);
    expect((await toModel(second, { model })).repairs).toEqual([]);
  });

  it.each(Object.keys(deepChanges))("sees that an answer has got %s", async (name) => {
    expect((await toModel(readAgain(), { model })).repairs).toEqual([]);
    const given = readAgain();
    deepChanges[name]!(given[1] as AIMessage);
    expect(sourceOf(given[1]!)).toBeUndefined();
    const plain = readAgain();
    plain[1] = new AIMessage(structuredClone(stored));
    deepChanges[name]!(plain[1] as AIMessage);
    expect((await toModel(given, { model })).repairs).toEqual((await toModel(plain, { model })).repairs);
  });

  it("lets a clean text stand behind one that was changed", async () => {
    const changed = readAgain();
    deepChanges["a name that no tool has"]!(changed[1] as AIMessage);
    expect((await toModel(changed, { model })).repairs).not.toEqual([]);
    expect((await toModel(readAgain(), { model })).repairs).toEqual([]);
  });
});

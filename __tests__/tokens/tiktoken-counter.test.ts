import { AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { countMessages } from "../../src/conversation/tokens/counted-messages.js";
import { tiktokenCounter } from "../../src/conversation/tokens/counters/tiktoken-counter.js";
import { referenceCount } from "./reference.js";

const weatherTool = {
  type: "function",
  function: {
    name: "get_current_weather",
    description: "Get the current weather in a given location",
    parameters: {
      type: "object",
      properties: {
        location: { type: "string", description: "The city and state, e.g. San Francisco, CA" },
        unit: { type: "string", description: "The unit of temperature to return", enum: ["celsius", "fahrenheit"] },
      },
      required: ["location"],
    },
  },
};

describe("OpenAI's published examples", () => {
  const jargon = [
    new SystemMessage(
      "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
    ),
    new SystemMessage({ name: "example_user", content: "New synergies will help drive top-line growth." }),
    new SystemMessage({ name: "example_assistant", content: "Things working well together will increase revenue." }),
    new SystemMessage({
      name: "example_user",
      content: "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
    }),
    new SystemMessage({
      name: "example_assistant",
      content: "Let's talk later when we're less busy about how to do better.",
    }),
    new HumanMessage("This late pivot means we don't have time to boil the ocean for the client deliverable."),
  ];
  const weather = [
    new SystemMessage("You are a helpful assistant that can answer to questions about the weather."),
    new HumanMessage("What's the weather like in San Francisco?"),
  ];

  it.each([
    ["o200k_base", 124],
    ["cl100k_base", 129],
  ] as const)("a conversation with names is billed as in %s: %d tokens", async (encoding, billed) => {
    expect(await countMessages(tiktokenCounter({ encoding }), jargon)).toBe(billed);
  });

  it.each([
    ["o200k_base", 101],
    ["cl100k_base", 105],
  ] as const)("a request with a tool is billed as in %s: %d tokens", async (encoding, billed) => {
    expect(await countMessages(tiktokenCounter({ encoding, tools: [weatherTool] }), weather)).toBe(billed);
  });
});

describe("tiktokenCounter", () => {
  const counter = tiktokenCounter();
  const length = (text: string) => referenceCount("o200k_base", text);

  it("counts by o200k_base by default, under an id that names the encoding and not the tools", async () => {
    expect(counter.id).toBe("tiktoken:o200k_base:1");
    expect(tiktokenCounter({ encoding: "cl100k_base", tools: [weatherTool] }).id).toBe("tiktoken:cl100k_base:1");
    expect(await counter.countText("antidisestablishmentarianism")).toBe(length("antidisestablishmentarianism"));
    expect(await counter.countText("")).toBe(0);
  });

  it("returns numbers once the encoding is loaded", async () => {
    await counter.ready();
    expect(counter.countText("hello world")).toBe(2);
    expect(counter.countMessage(new HumanMessage("hello world"))).toBe(3 + 1 + 2);
  });

  it("counts special tokens as ordinary text", async () => {
    expect(await counter.countText("<|endoftext|>")).toBe(length("<|endoftext|>"));
    expect(await counter.countText("<|endoftext|>")).toBeGreaterThan(1);
  });

  it("counts a tool call with id, name and arguments, however the arguments came", async () => {
    const args = { city: "Paris", days: 3 };
    const call = 3 + length("call_1") + length("weather") + length(JSON.stringify(args));
    const called = new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "weather", args }] });
    const unreadable = new AIMessage({
      content: "",
      invalid_tool_calls: [{ id: "call_1", name: "weather", args: JSON.stringify(args), error: "bad" }],
    });
    const old = new AIMessage({
      content: "",
      additional_kwargs: { function_call: { name: "weather", arguments: JSON.stringify(args) } },
    });
    expect(await counter.countMessage(called)).toBe(3 + length("assistant") + call);
    expect(await counter.countMessage(unreadable)).toBe(3 + length("assistant") + call);
    expect(await counter.countMessage(old)).toBe(3 + length("assistant") + call - length("call_1"));
  });

  it("counts a tool result with its call's id and its name", async () => {
    const result = new ToolMessage({ content: "sunny", tool_call_id: "call_1", name: "weather" });
    expect(await counter.countMessage(result)).toBe(
      3 + length("tool") + 1 + length("weather") + length("sunny") + length("call_1"),
    );
  });

  it("counts a message of a role of its own by that role", async () => {
    expect(await counter.countMessage(new ChatMessage("Hi", "moderator"))).toBe(3 + length("moderator") + length("Hi"));
  });

  it("counts arguments that JSON cannot hold", async () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const message = new AIMessage({
      content: "",
      tool_calls: [
        { name: "a", args: circular },
        { name: "a", args: { big: 10n } },
      ],
    });
    expect(await counter.countMessage(message)).toBe(3 + 1 + 2 * (3 + 1) + length('{"big":"10"}'));
  });

  it("counts tools once per request: about right before the encoding is loaded, exactly afterwards", async () => {
    const fresh = tiktokenCounter({ tools: [weatherTool] });
    const estimate = fresh.perRequest;
    await fresh.ready();
    // OpenAI's example with this tool is billed at 101, of which its messages are 30.
    expect(fresh.perRequest).toBe(101 - 30);
    expect(Math.abs(estimate / fresh.perRequest - 1)).toBeLessThan(0.15);
    expect(counter.perRequest).toBe(3);
  });

  it("counts a LangChain tool as it goes over the wire, nested parameters included", async () => {
    const flat = tool(() => "", {
      name: "find",
      description: "Finds.",
      schema: z.object({ query: z.string().describe("What.") }),
    });
    const nested = tool(() => "", {
      name: "find",
      description: "Finds.",
      schema: z.object({ query: z.string().describe("What."), range: z.array(z.object({ from: z.number() })) }),
    });
    const cost = async (...tools: object[]) => {
      const withTools = tiktokenCounter({ tools: tools as never });
      await withTools.ready();
      return withTools.perRequest - 3;
    };
    expect(await cost(flat)).toBe(7 + 12 + length("find:Finds") + 3 + 3 + length("query:string:What"));
    expect(await cost(nested)).toBe((await cost(flat)) + 3 + length("range:array:") + 3 + 3 + length("from:number:"));
    expect(await cost({ type: "web_search" })).toBe(length('{"type":"web_search"}'));
  });
});

import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { inspect } from "node:util";
import { z } from "zod";
import {
  MessageHistory,
  type OpenAIMessage,
  RedisToolInvocationHistory,
  ToolInvocationHistory,
} from "../../src/entries/openai.js";
import { memoryWith } from "../support/user-programs.js";

/*
 * Programs as users of MASEval's MessageHistory and ToolInvocationHistory write them, for each entry of its reference.
 */
const call = {
  id: "call_123",
  type: "function" as const,
  function: { name: "get_weather", arguments: '{"city": "NYC"}' },
};

/** The history of the page's example. */
function example(): MessageHistory {
  const history = new MessageHistory();
  history.addMessage("user", "Hello!");
  history.addMessage("user", [
    { type: "text", text: "What's in this image?" },
    { type: "image_url", image_url: { url: "https://example.com/a.png" } },
  ]);
  history.addToolCall([call], { content: "Looking.", metadata: { step: 1 } });
  history.addToolResponse("call_123", "Temperature: 72°F", { name: "get_weather" });
  return history;
}

describe("MASEval's MessageHistory", () => {
  it("begins empty or with a list, which it copies", () => {
    expect(new MessageHistory().length).toBe(0);
    const given: OpenAIMessage[] = [{ role: "user", content: "hi" }];
    const history = new MessageHistory(given);
    given[0]!.content = "changed";
    expect(history.at(0)!.content).toBe("hi");
  });

  it("is iterated over, indexed, sliced and counted", () => {
    const history = example();
    expect([...history].map(({ role }) => role)).toEqual(["user", "user", "assistant", "tool"]);
    expect(history.toList()).toEqual([...history]);
    expect([history.at(0)!.content, history.at(-1)!.role]).toEqual(["Hello!", "tool"]);
    expect(history.slice(-2).map(({ role }) => role)).toEqual(["assistant", "tool"]);
    expect(history.length > 0).toBe(true);
  });

  it("takes name, metadata and timestamp with a message, and makes the timestamp where none is given", () => {
    const history = new MessageHistory();
    history.addMessage("assistant", "hi", {
      name: "weather_agent",
      metadata: { mood: "sunny" },
      timestamp: "2026-01-31T12:00:00Z",
    });
    history.addMessage("user", "hello");
    expect(history.at(0)).toMatchObject({
      name: "weather_agent",
      metadata: { mood: "sunny" },
      timestamp: "2026-01-31T12:00:00Z",
    });
    expect(history.at(1)!.timestamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(() => history.addMessage("user", "x", { timestamp: "yesterday" })).toThrow("timestamp");
  });

  it("refuses a name by itself, a role of tools and an unknown role, and says how each is given", () => {
    const history = new MessageHistory();
    expect(() => history.addMessage("user", "x", "Ann" as never)).toThrow("{ name }");
    expect(() => history.addMessage("tool" as never, "x")).toThrow("addToolResponse");
    expect(() => history.addMessage("robot" as never, "x")).toThrow("role");
    expect(() => history.filterByRole("robot" as never)).toThrow("role");
  });

  it("holds images, files and audio", () => {
    const history = new MessageHistory();
    history.addMessage("user", [
      { type: "file", file: { file_id: "file-1" } },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
    ]);
    expect(history.at(0)!.content).toHaveLength(2);
  });

  it("refuses a call without an id, an empty list of calls, and arguments that are no text", () => {
    const history = new MessageHistory();
    expect(() => history.addToolCall([{ ...call, id: undefined as never }])).toThrow("id");
    expect(() => history.addToolCall([])).toThrow("toolCalls");
    const { name } = call.function;
    expect(() => history.addToolCall([{ ...call, function: { name, arguments: { city: "NYC" } as never } }])).toThrow(
      "arguments",
    );
  });

  it("filters by role, gives the last message or none, and is cleared", () => {
    const history = example();
    expect(history.filterByRole("user")).toHaveLength(2);
    expect(history.getLastMessage()!.role).toBe("tool");
    history.clear();
    expect([history.length, history.getLastMessage()]).toEqual([0, undefined]);
  });

  it("goes out without metadata and timestamps, names as OpenAI takes them", () => {
    const history = new MessageHistory();
    history.addMessage("user", "hi", { name: "Ema Vargova", metadata: { a: 1 } });
    expect(history.toOpenAIFormat()).toEqual([{ role: "user", content: "hi", name: "Ema_Vargova" }]);
  });

  it("says what it is as text and in console.log", () => {
    expect([String(example()), inspect(example())]).toEqual([
      "MessageHistory(4 messages)",
      "MessageHistory(4 messages)",
    ]);
  });

  it("comes back from JSON and from a store as it was, and a second save adds nothing", async () => {
    const history = example();
    expect(MessageHistory.fromJSON(JSON.stringify(history)).toList()).toEqual(history.toList());
    const redis = memoryWith().history("s");
    await history.save(redis);
    await history.save(redis);
    expect(await redis.getTranscript()).toHaveLength(4);
    expect((await MessageHistory.load(redis)).toOpenAIFormat()).toEqual(history.toOpenAIFormat());
  });
});

describe("MASEval's ToolInvocationHistory", () => {
  const weather = tool(({ city }) => (city === "Oslo" ? "4 °C" : Promise.reject(new Error("unknown city"))), {
    name: "weather",
    description: "tells the weather",
    schema: z.object({ city: z.string() }),
  });

  it("keeps inputs, outputs, status and time of each run apart from the messages, by a callback handler", async () => {
    const log = new ToolInvocationHistory();
    await weather.invoke({ city: "Oslo" }, { callbacks: [log.callbackHandler()] });
    await weather.invoke({ city: "Bergen" }, { callbacks: [log.callbackHandler()] }).catch(() => undefined);
    expect(log.toList()).toMatchObject([
      { name: "weather", inputs: { city: "Oslo" }, outputs: "4 °C", status: "success" },
      { name: "weather", inputs: { city: "Bergen" }, status: "error" },
    ]);
    expect(log.toList()[0]!.timestamp).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect([log.length, inspect(log)]).toEqual([2, "ToolInvocationHistory(2 invocations)"]);
  });

  it("is there in the session, too: counted, iterated over, and no message", async () => {
    const memory = memoryWith();
    const history = memory.history("s");
    await history.addMessages([new HumanMessage("q")]);
    const log = new RedisToolInvocationHistory({ history });
    await weather.invoke({ city: "Oslo" }, { callbacks: [log.callbackHandler()] });
    const found: unknown[] = [];
    for await (const { outputs } of log) {
      found.push(outputs);
    }
    expect([await log.length, found, (await history.getMessages()).length]).toEqual([1, ["4 °C"], 1]);
  });
});

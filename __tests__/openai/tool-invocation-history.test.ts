import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { DynamicTool, StructuredTool, tool } from "@langchain/core/tools";
import { z } from "zod";
import type { ConfigurationError } from "../../src/base/errors.js";
import type { ToolCallbackHandler } from "../../src/formats/tool-log/tool-invocation.js";
import { ToolInvocationHistory } from "../../src/formats/tool-log/tool-invocation-history.js";

const now = new Date("2026-01-31T12:00:00.000Z");
const run = { name: "search", inputs: { query: "Oslo" }, outputs: "4 °C", status: "success" };

describe("ToolInvocationHistory", () => {
  beforeEach(() => void jest.useFakeTimers({ now }));
  afterEach(() => void jest.useRealTimers());

  it("adds an id, a UTC timestamp and meta to each record", () => {
    const log = new ToolInvocationHistory();
    const record = log.addInvocation(run);
    expect(record).toEqual({
      ...run,
      id: expect.any(String) as string,
      timestamp: "2026-01-31T12:00:00.000Z",
      meta: {},
    });
    log.addInvocation({
      ...run,
      toolCallId: "c",
      timestamp: "2026-01-31T14:00:00+02:00",
      durationMs: 12.5,
      meta: { wall: 1 },
    });
    expect(log.toList()[1]).toMatchObject({
      toolCallId: "c",
      timestamp: "2026-01-31T12:00:00.000Z",
      durationMs: 12.5,
      meta: { wall: 1 },
    });
    expect([log.length, [...log], String(log)]).toEqual([2, log.toList(), "ToolInvocationHistory(2 invocations)"]);
  });

  it("starts with given records, and adds what they lack", () => {
    const whole = { ...run, id: "1", timestamp: "2025-01-01T00:00:00.000Z", meta: { a: 1 } };
    expect(new ToolInvocationHistory([whole, run]).toList()).toEqual([
      whole,
      { ...run, id: expect.any(String) as string, timestamp: "2026-01-31T12:00:00.000Z", meta: {} },
    ]);
  });

  it("returns copies: they do not grow, and changing them does not change the log", () => {
    const inputs = { query: ["Oslo"] };
    const log = new ToolInvocationHistory([{ ...run, inputs }]);
    const before = log.toList();
    inputs.query.push("changed");
    (log.toList()[0]!.inputs as typeof inputs).query.push("changed");
    ([...log][0]!.meta as Record<string, unknown>)["changed"] = true;
    (log.filter({})[0]!.inputs as typeof inputs).query.push("changed");
    (log.addInvocation(run).inputs as Record<string, unknown>)["changed"] = true;
    expect([before.length, log.toList()[0]]).toEqual([1, before[0]]);
    expect(log.toList()[1]!.inputs).toEqual(run.inputs);
  });

  it("filters by tool, status, call and time, also combined", () => {
    const log = new ToolInvocationHistory([
      { ...run, toolCallId: "a", timestamp: "2026-01-31T11:59:59.999Z" },
      { ...run, toolCallId: "b", timestamp: "2026-01-31T12:00:00Z", status: "error" },
      { ...run, toolCallId: "c", timestamp: "2026-01-31T12:00:00.5Z", name: "other" },
    ]);
    const ids = (filter: Parameters<typeof log.filter>[0]) => log.filter(filter).map(({ toolCallId }) => toolCallId);
    expect(ids({})).toEqual(["a", "b", "c"]);
    expect(ids({ name: "search" })).toEqual(["a", "b"]);
    expect(ids({ status: "error" })).toEqual(["b"]);
    expect(ids({ toolCallId: "c" })).toEqual(["c"]);
    expect(ids({ since: "2026-01-31T12:00:00Z" })).toEqual(["b", "c"]);
    expect(ids({ since: "2026-01-31T13:00:00.25+01:00" })).toEqual(["c"]);
    expect(ids({ name: "search", since: "2026-01-31T12:00:00.000Z" })).toEqual(["b"]);
  });

  it("keeps only the newest records, up to its limit", () => {
    const log = new ToolInvocationHistory(
      [1, 2, 3].map((outputs) => ({ ...run, outputs })),
      { limit: 2 },
    );
    expect(log.toList().map(({ outputs }) => outputs)).toEqual([2, 3]);
    log.addInvocation({ ...run, outputs: 4 });
    expect(log.toList().map(({ outputs }) => outputs)).toEqual([3, 4]);
  });

  it("survives JSON and back", () => {
    const log = new ToolInvocationHistory([
      { ...run, durationMs: 1, toolCallId: "c", meta: { a: [1] } },
      { ...run, outputs: null },
    ]);
    expect(ToolInvocationHistory.fromJSON(JSON.stringify(log)).toList()).toEqual(log.toList());
  });

  it("keeps what JSON can express of any value, and never throws", () => {
    const inputs = {
      at: new Date(0),
      big: 10n,
      bytes: new Uint8Array([1]),
      no: undefined,
      call: () => 1,
      nan: NaN,
    };
    const record = new ToolInvocationHistory().addInvocation({
      inputs,
      outputs: [new Error("bad"), new Map([["a", 1]]), new Set([2]), undefined, new Date(NaN)],
      status: "success",
    });
    expect(record.inputs).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      big: "10",
      bytes: "AQ==",
      nan: null,
    });
    expect(record.outputs).toEqual([{ name: "Error", message: "bad" }, [["a", 1]], [2], null, null]);
  });

  it("bounds the cost of one value: shared references, depth, custom toJSON", () => {
    let shared: unknown = 1;
    let deep: unknown = 1;
    for (let level = 0; level < 5_000; level += 1) {
      shared = level < 40 ? [shared, shared] : shared;
      deep = { deep };
    }
    const endless = { toJSON: () => ({ ...endless }) };
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const trap = {
      get value(): unknown {
        throw new Error("no");
      },
    };
    const ofOutputs = (outputs: unknown) =>
      new ToolInvocationHistory().addInvocation({ inputs: 1, outputs, status: "success" }).outputs;
    const unreadable = [shared, circular, trap].map(ofOutputs);
    expect(unreadable).toEqual(unreadable.map(() => "[Unreadable]"));
    expect(JSON.stringify([ofOutputs(endless), ofOutputs(deep)]).length).toBeLessThan(100_000);
  });

  it.each<[string, string, () => unknown]>([
    [
      "a run without status",
      "status",
      () => new ToolInvocationHistory().addInvocation({ inputs: 1, outputs: 1 } as never),
    ],
    [
      "a local time",
      "timestamp",
      () => new ToolInvocationHistory().addInvocation({ ...run, timestamp: "2026-01-31T12:00:00" }),
    ],
    ["a negative duration", "durationMs", () => new ToolInvocationHistory().addInvocation({ ...run, durationMs: -1 })],
    [
      "meta that JSON cannot hold",
      "meta.f",
      () => new ToolInvocationHistory().addInvocation({ ...run, meta: { f: () => 1 } }),
    ],
    ["an unknown field", "output", () => new ToolInvocationHistory().addInvocation({ ...run, output: 1 } as never)],
    ["a record of the wrong form", "records.1.status", () => new ToolInvocationHistory([run, {}] as never)],
    ["a limit of nothing", "limit", () => new ToolInvocationHistory([], { limit: 0 })],
    ["a filter by what there is not", "tool", () => new ToolInvocationHistory().filter({ tool: "x" } as never)],
    ["a filter by a local time", "since", () => new ToolInvocationHistory().filter({ since: "today" })],
    ["text that is no JSON", "text", () => ToolInvocationHistory.fromJSON("{")],
  ])("refuses %s, with an error that names it", (_, option, action) => {
    expect(action).toThrow(expect.objectContaining({ option }) as ConfigurationError);
  });

  it("assigns ids that sort by time, also within a millisecond and if the clock goes back", () => {
    const times = [5, 5, 5, 4, 9, 1].map((second) => new Date(Date.UTC(2100, 0, 1, 0, 0, second)));
    const log = new ToolInvocationHistory();
    const ids = times.map((time) => {
      jest.setSystemTime(time);
      return log.addInvocation(run).id;
    });
    jest.setSystemTime(Date.UTC(2101, 0, 1));
    const within = Array.from({ length: 5_000 }, () => log.addInvocation(run).id);
    const all = [...ids, ...within];
    expect(all).toEqual([...new Set(all)].sort());
    expect(all.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
      true,
    );
  });
});

describe("the callback handler", () => {
  const weather = tool(({ city }) => `4 °C in ${city}`, {
    name: "weather",
    description: "",
    schema: z.object({ city: z.string() }),
  });
  const broken = tool(
    () => {
      throw new TypeError("no such city");
    },
    { name: "broken", description: "", schema: z.object({}) },
  );
  const toolCall = (id: string, name: string, args = {}) => ({ type: "tool_call" as const, id, name, args });

  it("records a run that a model requested: arguments, result, call, duration", async () => {
    jest.useFakeTimers({ now, doNotFake: ["nextTick", "queueMicrotask", "setImmediate", "setTimeout"] });
    const log = new ToolInvocationHistory();
    await weather.invoke(toolCall("c1", "weather", { city: "Oslo" }), { callbacks: [log.callbackHandler()] });
    expect(log.toList()).toEqual([
      {
        id: expect.any(String) as string,
        name: "weather",
        inputs: { city: "Oslo" },
        outputs: "4 °C in Oslo",
        status: "success",
        toolCallId: "c1",
        timestamp: "2026-01-31T12:00:00.000Z",
        durationMs: expect.any(Number) as number,
        meta: {},
      },
    ]);
    jest.useRealTimers();
  });

  it("records a failed run: the error's message, its type and its call", async () => {
    const log = new ToolInvocationHistory();
    await expect(broken.invoke(toolCall("c2", "broken"), { callbacks: [log.callbackHandler()] })).rejects.toThrow(
      "no such city",
    );
    expect(log.filter({ status: "error" })).toMatchObject([
      { name: "broken", outputs: "no such city", toolCallId: "c2", meta: { errorType: "TypeError" } },
    ]);
  });

  it("records an error that the tool returned", async () => {
    const polite = tool(() => new ToolMessage({ content: "cannot", tool_call_id: "c3", status: "error" }), {
      name: "polite",
      description: "",
      schema: z.object({}),
    });
    const log = new ToolInvocationHistory();
    await polite.invoke(toolCall("c3", "polite"), { callbacks: [log.callbackHandler()] });
    expect(log.toList()).toMatchObject([{ name: "polite", outputs: "cannot", status: "error", toolCallId: "c3" }]);
  });

  it("records the tool's name if the run has another, and runs that no model requested", async () => {
    const echo = new DynamicTool({ name: "echo", description: "", func: (text) => Promise.resolve(text) });
    class Shout extends StructuredTool {
      name = "shout";
      description = "";
      schema = z.object({ text: z.string() });
      protected _call({ text }: { text: string }): Promise<string> {
        return Promise.resolve(text.toUpperCase());
      }
    }
    const log = new ToolInvocationHistory();
    const callbacks = [log.callbackHandler()];
    await weather.invoke(toolCall("c4", "weather", { city: "Rome" }), { callbacks, runName: "look outside" });
    await echo.invoke("hi", { callbacks });
    await new Shout().invoke({ ...toolCall("c5", "shout", { text: "hi" }) }, { callbacks });
    expect(
      log.toList().map(({ name, inputs, outputs, toolCallId }) => ({ name, inputs, outputs, toolCallId })),
    ).toEqual([
      { name: "weather", inputs: { city: "Rome" }, outputs: "4 °C in Rome", toolCallId: "c4" },
      { name: "echo", inputs: { input: "hi" }, outputs: "hi", toolCallId: undefined },
      { name: "shout", inputs: { text: "hi" }, outputs: "HI", toolCallId: "c5" },
    ]);
  });

  it("tells parallel runs apart", async () => {
    const slow = tool(
      async ({ ms }) => {
        await new Promise((resolve) => setTimeout(resolve, ms));
        return String(ms);
      },
      { name: "slow", description: "", schema: z.object({ ms: z.number() }) },
    );
    const log = new ToolInvocationHistory();
    const callbacks = [log.callbackHandler()];
    const answer = new AIMessage({
      content: "",
      tool_calls: [30, 20, 10, 0].map((ms) => toolCall(`c${ms}`, "slow", { ms })),
    });
    await Promise.all(answer.tool_calls!.map((call) => slow.invoke({ ...call, type: "tool_call" }, { callbacks })));
    expect(
      log
        .toList()
        .map(({ toolCallId, inputs, outputs }) => [toolCallId, inputs, outputs])
        .sort(),
    ).toEqual([0, 10, 20, 30].map((ms) => [`c${ms}`, { ms }, String(ms)]));
  });

  it("forgets runs whose end was never reported, and returns itself as its copy", () => {
    const log = new ToolInvocationHistory();
    const handler = log.callbackHandler() as ToolCallbackHandler;
    expect(handler.copy()).toBe(handler);
    for (let index = 0; index <= 10_000; index += 1) {
      handler.handleToolStart(
        { lc: 1, type: "not_implemented", id: ["langchain", "tools", "Old"] },
        "{broken",
        String(index),
      );
    }
    return handler
      .handleToolEnd("x", "0")
      .then(() => handler.handleToolEnd("y", "9999"))
      .then(() => handler.handleToolError("no error object", "10000"))
      .then(() =>
        expect(log.toList()).toMatchObject([
          { name: "Old", inputs: "{broken", outputs: "y", status: "success" },
          { name: "Old", outputs: "no error object", status: "error", meta: { errorType: "string" } },
        ]),
      );
  });
});

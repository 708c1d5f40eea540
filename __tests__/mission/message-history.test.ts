import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { inspect } from "node:util";
import { z } from "zod";
import { RedisToolInvocationHistory, ToolInvocationHistory } from "../../src/entries/openai.js";
import { memoryWith } from "../support/user-programs.js";

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

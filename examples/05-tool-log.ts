// Every tool run of a session, recorded by a callback handler and kept in Redis beside the messages: same slot, same
// expiry, bounded.
import { randomUUID } from "node:crypto";
import { tool } from "@langchain/core/tools";
import { RedisChatMemory } from "langchain-redis-memory";
import { RedisToolInvocationHistory } from "langchain-redis-memory/openai";
import { z } from "zod";
import { connection } from "./support/setting.js";

const weather = tool(
  async ({ city }) => {
    if (city === "Atlantis") {
      throw new Error("no such city");
    }
    return `4 °C in ${city}`;
  },
  { name: "weather", description: "The weather in a city.", schema: z.object({ city: z.string() }) },
);

const memory = new RedisChatMemory({ ...connection(), sessionTTL: 3600 });
const log = new RedisToolInvocationHistory({ memory, sessionId: `tools-${randomUUID()}`, limit: 100 });
const callbacks = [log.callbackHandler()];
await weather.invoke({ type: "tool_call", id: "call-1", name: "weather", args: { city: "Oslo" } }, { callbacks });
await weather
  .invoke({ type: "tool_call", id: "call-2", name: "weather", args: { city: "Atlantis" } }, { callbacks })
  .catch(() => undefined);

for (const { name, inputs, outputs, status, toolCallId } of await log.toList()) {
  console.log(`${toolCallId}  ${name}(${JSON.stringify(inputs)})  ${status}: ${JSON.stringify(outputs)}`);
}
console.log(`failed: ${(await log.filter({ status: "error" })).length}`);
await memory.close();

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { validateConversation } from "langchain-redis-memory/structure";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { sketch, ToolModel } from "../support/agents.js";
import { closeMemories, newMemory } from "../support/memories.js";

afterEach(closeMemories);

const cases = (["step", "turn"] as const).flatMap((persist) =>
  (["MemorySaver", "RedisSaver"] as const).flatMap((saver) => [0, 1].map((whole) => [persist, saver, whole] as const)),
);

describe("an agent beside a checkpointer whose process died in its tools", () => {
  it.each(cases)(
    "answers the question that is asked again (%s, %s, whole steps: %i)",
    async (persist, saver, whole) => {
      const memory = newMemory();
      const checkpointer = saver === "MemorySaver" ? new MemorySaver() : new RedisSaver({ memory });
      let [calls, ids] = [0, 0];
      let died = () => {};
      const death = new Promise<void>((resolve) => (died = resolve));
      const work = (dies: boolean) =>
        tool(
          async () => {
            calls += 1;
            if (calls > whole && dies) {
              died();
              await new Promise(() => undefined);
            }
            return "worked";
          },
          { name: "work", schema: z.object({}) },
        );
      const requests: ToolModel["sent"][] = [];
      const run = (dies: boolean) => {
        const model: ToolModel = new ToolModel((messages) => {
          const results = messages.filter((message) => message.getType() === "tool").length;
          const call = () => ({ id: `c${(ids += 1)}`, name: "work", args: {}, type: "tool_call" as const });
          // The last step has two calls, of which none came back.
          const asked = results < whole ? [call()] : [call(), call()];
          return results > whole ? "done" : new AIMessage({ content: "", id: `ai${(ids += 1)}`, tool_calls: asked });
        });
        requests.push(model.sent);
        const middleware = [redisMemoryMiddleware({ memory, persist, oneTurnAtATime: false })];
        const agent = createAgent({ model, tools: [work(dies)], checkpointer, middleware });
        const configurable = { sessionId: "s", thread_id: "s", turnId: "t" };
        return agent.invoke(
          { messages: [new HumanMessage({ id: "q", content: "hi" })] },
          { configurable, durability: "sync" },
        );
      };
      void run(true);
      await death;
      const { messages } = await run(false);
      const expected = ["hi", ...Array.from({ length: whole }, () => ["<ai>", "worked"]).flat()];
      expected.push("<ai>", "worked", "worked", "done");
      expect(sketch(messages)).toEqual(expected);
      expect(sketch(await memory.history("s").getTranscript())).toEqual(expected);
      const issues = requests.flat().map((sent) => validateConversation([...sent], { purpose: "model-input" }));
      expect(issues.flat().filter(({ severity }) => severity === "error")).toEqual([]);
    },
  );
});

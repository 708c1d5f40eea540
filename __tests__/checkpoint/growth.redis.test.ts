import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { z } from "zod";
import { RedisSaver } from "../../src/checkpoint/redis-saver.js";
import type { RedisSaverSettings } from "../../src/checkpoint/saver-options.js";
import { threadKeys } from "../../src/redis/keys.js";
import { startRedis } from "../../testkit/servers/redis-server.js";
import { ToolModel } from "../support/agents.js";
import { ownServer } from "../support/own-server.js";

/** 400 bytes that no other call has. */
const content = (seed: number) => `${seed} `.padEnd(400, "words of a message that is as long as most are ");

const fetchPage = tool(async ({ page }: { page: number }) => content(page), {
  name: "fetch_page",
  schema: z.object({ page: z.number() }),
});

/** A model that calls the tool so many times at once, in each of so many rounds. */
function callingModel(rounds: number, parallel = 1): ToolModel {
  let id = 0;
  const model: ToolModel = new ToolModel(() => {
    const calls = Array.from({ length: parallel }, () => ({
      name: "fetch_page",
      args: { page: (id += 1) },
      id: `c${id}`,
    }));
    const said = { content: content(id), id: `ai-${id}` };
    return model.sent.length <= rounds
      ? new AIMessage({ ...said, tool_calls: calls.map((call) => ({ ...call, type: "tool_call" })) })
      : new AIMessage(said);
  });
  return model;
}

function earlier(count: number): BaseMessage[] {
  return Array.from({ length: count }, (_, index) => {
    const fields = { content: content(-index - 1), id: `m${index}` };
    return index % 2 === 0 ? new HumanMessage(fields) : new AIMessage(fields);
  });
}

describe("A thread on RedisSaver grows by what is new in a step", () => {
  const own = ownServer(startRedis);

  const open = (settings: RedisSaverSettings = {}) => new RedisSaver({ client: own.client, ...settings });
  const thread = (id: string) => ({
    configurable: { thread_id: id },
    recursionLimit: 3_000,
    durability: "sync" as const,
  });
  const itemsOf = (id: string) => own.client.llen(threadKeys("lcmem", id).items);
  const bytesOf = async (id: string) => {
    const sizes = await Promise.all(
      Object.values(threadKeys("lcmem", id)).map((key) => own.client.memory("USAGE", key, "SAMPLES", 0)),
    );
    return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  };
  const sentBytes = async () => Number(/total_net_input_bytes:(\d+)/.exec(await own.client.info("stats"))![1]);

  it("stores 120 steps of a tool loop flat, each message once", async () => {
    const checkpointer = open();
    const marks = new Map<number, number>();
    const put = checkpointer.put.bind(checkpointer);
    jest.spyOn(checkpointer, "put").mockImplementation(async (...call) => {
      const stored = await put(...call);
      const { step } = call[2];
      if ([20, 60, 80, 120].includes(step)) {
        marks.set(step, await bytesOf("loop"));
      }
      return stored;
    });
    const agent = createAgent({ model: callingModel(60), tools: [fetchPage], checkpointer });
    await own.client.config("RESETSTAT");
    const { messages } = await agent.invoke({ messages: earlier(100) }, thread("loop"));
    const sent = await sentBytes();
    const perStep = (from: number, to: number) => (marks.get(to)! - marks.get(from)!) / (to - from);
    expect(messages).toHaveLength(221);
    expect(Math.abs((await itemsOf("loop")) - messages.length)).toBeLessThanOrEqual(3);
    const [first, last] = [perStep(20, 60), perStep(80, 120)];
    expect(last).toBeLessThan(1.05 * first);
    expect(last).toBeLessThan(2_500);
    expect(sent / 120).toBeLessThan(3_000);
  });
});

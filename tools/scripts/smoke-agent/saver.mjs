// The checkpointer on a real server, with what every version of LangGraph's savers has.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "langchain-redis-memory/checkpoint";

const required = createRequire(import.meta.url)("langchain-redis-memory/checkpoint");
const keyPrefix = `smoke-${process.pid}`;
for (const Saver of [RedisSaver, required.RedisSaver]) {
  const [saver, memory] = [Saver.fromUrl(`unix://${process.env.SMOKE_REDIS_SOCKET}`, { keyPrefix }), new MemorySaver()];
  const thread = { configurable: { thread_id: "smoke", checkpoint_ns: "" } };
  let config = thread;
  const messages = [];
  for (let step = 1; step <= 3; step += 1) {
    messages.push(
      new HumanMessage({ id: `${step}`, content: "x".repeat(300) }),
      new AIMessage({ id: `a${step}`, content: "y" }),
    );
    const values = {
      channel_values: { messages: [...messages], set: new Set([step]) },
      channel_versions: { messages: step },
    };
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), ...values };
    const metadata = { source: "loop", step, parents: {} };
    await memory.put(config, checkpoint, metadata, { messages: step });
    config = await saver.put(config, checkpoint, metadata, { messages: step });
    await Promise.all([saver, memory].map((one) => one.putWrites(config, [["messages", [messages[0]]]], "task")));
  }
  const [own, expected] = [await saver.getTuple(thread), await memory.getTuple(thread)];
  // As text: the CommonJS build makes messages of its own copy of the classes.
  for (const part of ["checkpoint", "metadata", "pendingWrites", "parentConfig"]) {
    assert.equal(JSON.stringify(own[part]), JSON.stringify(expected[part]));
  }
  assert.equal(own.checkpoint.channel_values.messages.length, 6);
  await saver.deleteThread("smoke");
  await saver.close();
}

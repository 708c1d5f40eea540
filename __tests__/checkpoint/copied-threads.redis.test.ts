import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6, type CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { randomUUID } from "node:crypto";
import { RedisSaver, type RedisSaverSettings } from "langchain-redis-memory/checkpoint";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { all } from "./compared-saver.js";

const forms: readonly (readonly [string, RedisSaverSettings])[] = [
  ["plain", {}],
  ["encrypted", { encryption: testKeys("k1") }],
];

describe.each(forms)("A copy of a thread, %s", (_, settings) => {
  const client = sharedClient();
  const saver = new RedisSaver({ client, keyPrefix: uniquePrefix(), ...settings });

  const at = (threadId: string) => ({ configurable: { thread_id: threadId } });
  const begin = async (threadId: string, steps: number) => {
    const messages: HumanMessage[] = [];
    let config = at(threadId);
    for (let step = 1; step <= steps; step += 1) {
      messages.push(new HumanMessage({ id: `${step}`, content: `${step} `.padEnd(300, "and so on ") }));
      const fields = { channel_values: { messages: [...messages] }, channel_versions: { messages: step } };
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), ...fields };
      config = (await saver.put(
        config,
        checkpoint,
        { source: "loop", step, parents: {} },
        { messages: step },
      )) as never;
      await saver.putWrites(config, [["messages", [`write ${step} `.padEnd(300, "…")]]], "task");
    }
  };
  const withoutThread = (tuples: readonly CheckpointTuple[]) =>
    JSON.parse(JSON.stringify(tuples, (name, value: unknown) => (name === "thread_id" ? "" : value))) as unknown;

  it("shows what the thread showed, and each goes its own way", async () => {
    const [from, to] = [randomUUID(), randomUUID()];
    await begin(from, 12);
    await saver.prune(from, { keep: 8 });
    expect(await saver.copyThread(from, to)).toBe(true);
    const copied = await all(saver.list(at(to)));
    expect(copied).toHaveLength(8);
    expect(withoutThread(copied)).toEqual(withoutThread(await all(saver.list(at(from)))));
    await saver.deleteThread(from);
    await saver.putWrites(copied[0]!.config, [["messages", ["more"]]], "other task");
    expect((await saver.getTuple(at(to)))!.pendingWrites).toHaveLength(2);
  });

  it("is refused where a thread has the id, and is none of nothing or of a damaged thread", async () => {
    const [from, to] = [randomUUID(), randomUUID()];
    expect(await saver.copyThread(from, to)).toBe(false);
    await begin(from, 2);
    await begin(to, 1);
    await expect(saver.copyThread(from, to)).rejects.toMatchObject({ name: "ConflictError", code: "exists" });
    const keys = await client.keys(`*{${from}}:items`);
    await client.rpop(keys[0]!);
    await expect(saver.copyThread(from, randomUUID())).rejects.toMatchObject({ code: "damaged" });
  });
});

import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import type { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { ownServer } from "../support/own-server.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";
import { all } from "../support/all.js";

const meta = { source: "loop", step: 0, parents: {} } as const;

function showing(count: number, from = 0): Checkpoint {
  const messages = Array.from({ length: count }, (_, index) => {
    return new HumanMessage({ id: `${from + index}`, content: `${from + index} `.padEnd(400, "and so on ") });
  });
  return { ...emptyCheckpoint(), id: uuid6(1), channel_values: { messages }, channel_versions: { messages: count } };
}

describe("A saver's round trips", () => {
  const own = ownServer(startRedis);
  let client: Redis;
  let trips = 0;
  beforeAll(() => {
    ({ client } = own);
    // Every command of the saver is a round trip of its own: it uses no pipelines.
    const call = client.call.bind(client) as (...args: unknown[]) => Promise<unknown>;
    client.call = ((...args: unknown[]) => {
      trips += 1;
      return call(...args);
    }) as typeof client.call;
    jest.spyOn(client, "pipeline").mockImplementation(() => {
      throw new Error("A saver sends no pipelines.");
    });
  });
  const tripsOf = async (work: () => Promise<unknown>) => {
    const before = trips;
    await work();
    return trips - before;
  };
  const at = (threadId: string) => ({ configurable: { thread_id: threadId } });

  it("are one a call and a page, with a filter too, one more for a thread that is not known", async () => {
    const [saver, other, thread] = [new RedisSaver({ client }), new RedisSaver({ client }), randomUUID()];
    let config = at(thread);
    const put = (by: RedisSaver, count: number) => async () => {
      config = (await by.put(config, showing(count), meta, { messages: count })) as typeof config;
    };
    expect(await tripsOf(() => saver.getTuple(config))).toBe(1);
    expect(await tripsOf(put(saver, 100))).toBe(1);
    expect(await tripsOf(put(saver, 101))).toBe(1);
    expect(await tripsOf(() => saver.putWrites(config, [["messages", [{ text: "x".repeat(500) }]]], "t"))).toBe(1);
    expect(await tripsOf(() => saver.getTuple(at(thread)))).toBe(1);
    expect(await tripsOf(() => all(saver.list(at(thread), { limit: 2 })))).toBe(1);
    const root = { configurable: { thread_id: thread, checkpoint_ns: "" } };
    expect(await tripsOf(() => all(saver.list(root)))).toBe(1);
    expect(await tripsOf(() => all(saver.list(root, { filter: { source: "loop" } })))).toBe(1);
    expect(await tripsOf(put(other, 102))).toBe(2);
    expect(await tripsOf(put(other, 103))).toBe(1);
    // Others stored items: what is written is refused, read and written again.
    expect(await tripsOf(put(saver, 104))).toBe(3);
    expect(await tripsOf(put(saver, 105))).toBe(1);
    await saver.prune(thread, { keep: 1 });
    expect(await tripsOf(put(other, 60))).toBe(3);
    expect(await tripsOf(put(other, 61))).toBe(1);
    // Two keys are looked at first, together: a script may not name missing keys of a slot that is being moved.
    expect(await tripsOf(() => saver.deleteThread(thread))).toBe(3);
    expect(await tripsOf(put(other, 61))).toBe(3);
  });

  it("are one more after a flush of the scripts", async () => {
    const [saver, thread] = [new RedisSaver({ client }), randomUUID()];
    await saver.put(at(thread), showing(3), meta, { messages: 3 });
    await client.script("FLUSH");
    expect(await tripsOf(() => saver.put(at(thread), showing(4), meta, { messages: 4 }))).toBe(2);
    expect(await tripsOf(() => saver.put(at(thread), showing(5), meta, { messages: 5 }))).toBe(1);
  });

  it("store a list of which every fourth element was replaced with few bytes more", async () => {
    const [saver, thread] = [new RedisSaver({ client }), randomUUID()];
    const checkpoint = showing(1_000);
    const messages = checkpoint.channel_values["messages"] as HumanMessage[];
    let config = (await saver.put(at(thread), checkpoint, meta, { messages: 1 })) as ReturnType<typeof at>;
    const replaced = messages
      .map((message, index) => (index % 4 === 0 ? showing(1, index + 5_000).channel_values["messages"] : message))
      .flat();
    const sizes: number[] = [];
    for (let step = 0; step < 5; step += 1) {
      replaced.push(...(showing(1, 9_000 + step).channel_values["messages"] as HumanMessage[]));
      const next = {
        ...showing(0),
        channel_values: { messages: [...replaced] },
        channel_versions: { messages: 2 + step },
      };
      config = (await saver.put(config, next, meta, { messages: 2 + step })) as typeof config;
      const id = (config.configurable as { checkpoint_id?: string }).checkpoint_id!;
      sizes.push((await client.hstrlen(`lcmem:{${thread}}:checkpoints`, `c\0${id}`))!);
    }
    expect(Math.max(...sizes.slice(1))).toBeLessThan(1_200);
    const read = (await new RedisSaver({ client }).get(at(thread)))!.channel_values["messages"] as HumanMessage[];
    expect(read.map(({ id }) => id)).toEqual(replaced.map((message) => (message as HumanMessage).id));
  });
});

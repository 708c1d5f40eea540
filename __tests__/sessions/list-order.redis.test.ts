import { Redis } from "ioredis";
import { setTimeout as pause } from "node:timers/promises";
import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { interceptedClient } from "../../testkit/proxies/intercepted-client.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { human } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

afterEach(closeMemories);

const owner = "ann";

it("a session that was written to stands in front, also where another process renames it meanwhile", async () => {
  const redis = { keyPrefix: uniquePrefix() };
  const client = new Redis(sharedRedisUrl());
  let holds = false;
  let letGo!: () => void;
  const released = new Promise<void>((resolve) => (letGo = resolve));
  let reached!: () => void;
  const isReached = new Promise<void>((resolve) => (reached = resolve));
  const writer = new RedisChatMemory({
    redis,
    client: interceptedClient(client, async (send, args) => {
      if (holds && args.some((arg) => String(arg).startsWith('{"mode":"front"'))) {
        reached();
        await released;
      }
      return send();
    }),
  });
  try {
    await writer.history("first", { owner }).append([human("1")]);
    await writer.drain();
    const other = newMemory({ redis });
    await other.history("second", { owner }).append([human("2")]);
    await other.drain();
    holds = true;
    await writer.history("first", { owner }).append([human("3")]);
    await isReached;
    await other.sessions.update("first", { title: "Letters" }, { owner });
    letGo();
    await writer.drain();
    const { sessions } = await other.sessions.list({ owner });
    expect(sessions.map(({ sessionId, title }) => [sessionId, title])).toEqual([
      ["first", "Letters"],
      ["second", undefined],
    ]);
  } finally {
    letGo();
    await writer.close();
    client.disconnect();
  }
});

it("a list that was lost is made anew, with each session at its place by time", async () => {
  const redis = { keyPrefix: uniquePrefix() };
  const memory = newMemory({ redis });
  for (const sessionId of ["first", "second", "third", "first"]) {
    await memory.history(sessionId, { owner }).append([human(sessionId)]);
    await memory.drain();
    // Sessions of one millisecond have no order by time.
    await pause(2);
  }
  const listed = async () => (await memory.sessions.list({ owner })).sessions.map(({ sessionId }) => sessionId);
  const before = await listed();
  const client = new Redis(sharedRedisUrl());
  await client.unlink(await client.keys(`${redis.keyPrefix}:{owner:*`)).finally(() => client.disconnect());
  expect(await listed()).toEqual([]);
  await memory.sessions.reindex();
  expect(await listed()).toEqual(before);
});

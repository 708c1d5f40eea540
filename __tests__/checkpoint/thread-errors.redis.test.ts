import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const client = sharedClient();

const at = (threadId: string) => ({ configurable: { thread_id: threadId } });
const put = (saver: RedisSaver, threadId: string) =>
  saver.put(at(threadId), { ...emptyCheckpoint(), id: uuid6(1) }, { source: "loop", step: 1, parents: {} }, {});
const message = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "",
    (error: Error) => error.message,
  );

describe("An error of RedisSaver speaks of a thread", () => {
  it("where another program's key is in its place", async () => {
    const keyPrefix = uniquePrefix();
    const saver = new RedisSaver({ client, keyPrefix });
    await client.set(`${keyPrefix}:{chat%207}:checkpoints`, "text");
    const said = await message(put(saver, "chat 7"));
    expect(said).toMatch(/^Thread chat%207: a key of the thread holds another type of value; nothing was written\. /);
    expect(said).toContain("deleteThread() removes the thread");
    expect(await message(saver.getTuple(at("chat 7")))).toMatch(/^Thread chat%207: /);
  });

  it("where Redis cannot be reached, for each method", async () => {
    const saver = new RedisSaver({ url: "redis://127.0.0.1:1", commandTimeout: 2_000 });
    const calls = [
      saver.getTuple(at("chat-7")),
      put(saver, "chat-7"),
      saver.putWrites({ configurable: { thread_id: "chat-7", checkpoint_id: uuid6(1) } }, [["a", 1]], "task"),
      saver.list(at("chat-7")).next(),
      saver.deleteThread("chat-7"),
      saver.prune("chat-7", { keep: 1 }),
    ];
    for (const said of await Promise.all(calls.map(message))) {
      expect(said).toMatch(/^Thread chat-7: Redis at 127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)/);
    }
    await saver.close();
  });

  it("where its key is unknown", async () => {
    const keyPrefix = uniquePrefix();
    const encryption = { current: { id: "first", key: Buffer.alloc(32, 7) } };
    await put(new RedisSaver({ client, keyPrefix, encryption }), "chat-7");
    const said = await message(new RedisSaver({ client, keyPrefix }).getTuple(at("chat-7")));
    expect(said).toContain('encrypted with the key "first"');
    expect(said).not.toContain("ession");
  });
});

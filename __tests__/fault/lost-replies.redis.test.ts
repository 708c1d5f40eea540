import { Redis } from "ioredis";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { SessionRef } from "../../src/store/contract/session-ref.js";
import type { CommitRequest, RewindRequest } from "../../src/store/contract/session-writes.js";
import { startFaultProxy, type FaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { ai, human } from "../support/messages.js";
import { ownServer } from "../support/own-server.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";

describe("A write whose reply was lost and that the client sends again", () => {
  const own = ownServer(startRedis);
  let proxy: FaultProxy;
  let client: Redis;
  let direct: Redis;
  beforeAll(async () => {
    proxy = await startFaultProxy(own.server.port);
    direct = own.client;
    client = new Redis({ port: proxy.port, retryStrategy: () => 20 });
  });
  afterAll(async () => {
    client.disconnect();
    await proxy.stop();
  });

  /** Lets the server carry out a write, swallows its reply, and cuts the connection. */
  async function loseReply<T>(keyPrefix: string, write: () => Promise<T>): Promise<T> {
    const revision = () => direct.hget(`${keyPrefix}:{s}:state`, "rev");
    const before = await revision();
    proxy.dropReplies();
    const writing = write();
    while ((await revision()) === before) {
      await new Promise(setImmediate);
    }
    proxy.restoreReplies();
    proxy.cut();
    return writing;
  }

  class LosingStore extends RedisSessionStore {
    readonly keyPrefix: string;

    constructor(keyPrefix: string) {
      super({ client, keyPrefix });
      this.keyPrefix = keyPrefix;
      const { edits } = this;
      const rewind = edits.rewind.bind(edits);
      Object.assign(edits, {
        rewind: (session: SessionRef, request: RewindRequest) => loseReply(keyPrefix, () => rewind(session, request)),
      });
    }

    override commitReduction(session: SessionRef, request: CommitRequest) {
      return loseReply(this.keyPrefix, () => super.commitReduction(session, request));
    }
  }

  const historyOf = async (keyPrefix: string) => {
    const store = new LosingStore(keyPrefix);
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const history = new RedisChatMessageHistory({ store, sessionId: "s", reducer, reduceWhen: "never" });
    const chat = [human("q1", "q1"), ai("a1", { id: "a1" }), human("q2", "q2"), ai("a2", { id: "a2" })];
    await history.addMessages(chat);
    return history;
  };
  const texts = async (history: RedisChatMessageHistory) => (await history.getTranscript()).map(({ text }) => text);

  it.each([
    ["the last answer", "a2", ["q1", "a1", "q2"]],
    ["all of the session", "q1", []],
  ])("has removed %s, by rewind", async (_, messageId, left) => {
    const history = await historyOf(`rewind-${messageId}`);
    await expect(history.rewind(messageId)).resolves.toBeUndefined();
    expect(await texts(history)).toEqual(left);
    await expect(history.rewind(messageId)).rejects.toMatchObject({ code: "unknown_message" });
  });

  it("has cleared the session once: what others wrote in between stays", async () => {
    const history = await historyOf("clear");
    const send = jest.spyOn(client, "sendCommand");
    const removing = () => send.mock.calls.some(([{ args }]) => String(args[1]) === "3");
    const cleared = async () => {
      // The call reads first; from its second question on, which names three keys, replies are lost.
      while (!removing()) {
        await new Promise(setImmediate);
      }
      proxy.dropReplies();
      while ((await direct.exists("clear:{s}:state")) === 1) {
        await new Promise(setImmediate);
      }
    };
    const clearing = history.clear();
    await cleared();
    const other = new RedisChatMessageHistory({ client: direct, redis: { keyPrefix: "clear" }, sessionId: "s" });
    await other.addMessages([human("of another")]);
    send.mockRestore();
    proxy.restoreReplies();
    proxy.cut();
    await expect(clearing).resolves.toBeUndefined();
    expect(await texts(history)).toEqual(["of another"]);
  });

  it("has deleted the session, and says so; the list of its owner no longer names it", async () => {
    const memory = new RedisChatMemory({ client, redis: { keyPrefix: "delete" } });
    const history = memory.history("s", { owner: "ann" });
    await history.addMessages([human("q")]);
    await expect(loseReply("delete", () => memory.sessions.delete("s"))).resolves.toBe(true);
    await expect(memory.sessions.delete("s")).resolves.toBe(false);
    expect(await memory.sessions.list({ owner: "ann" })).toEqual({ sessions: [], next: null });
  });

  it("has reduced the view once", async () => {
    const history = await historyOf("reduce");
    await expect(history.reduceView()).resolves.toMatchObject({ changed: true });
    expect((await history.getMessages()).map(({ text }) => text)).toEqual(["q2", "a2"]);
  });
});

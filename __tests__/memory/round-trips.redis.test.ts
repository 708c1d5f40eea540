import { RedisChatMessageHistory } from "../../src/memory/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/reducers/truncation-reducer.js";
import { startFaultProxy, type FaultProxy } from "../../testkit/proxies/fault-proxy.js";
import { ai, human } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

/** Counted on the wire, between the client and the server, and not by what the package says of itself. */
describe("round trips, counted at the socket", () => {
  let proxy: FaultProxy;
  let history: RedisChatMessageHistory;

  beforeAll(async () => {
    proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 2 });
    history = new RedisChatMessageHistory({
      sessionId: "ann",
      url: proxy.url,
      keyPrefix: uniquePrefix(),
      sessionTTL: 60,
      reducer,
    });
    await history.getMessages();
  });

  afterAll(async () => {
    await history.close();
    await proxy.stop();
  });

  async function tripsOf(action: () => Promise<unknown>): Promise<number> {
    proxy.resetFlights();
    await action();
    return proxy.flights();
  }

  it("a read needs one, also for an empty session and a reduced view", async () => {
    expect(await tripsOf(() => history.getMessages())).toBe(1);
    await history.addMessages(Array.from({ length: 20 }, (_, index) => human(`m${index}`)));
    expect(await tripsOf(() => history.getMessages())).toBe(1);
    expect(await history.getMessages()).toHaveLength(4);
  });

  it.each([1, 10, 1000])("a write of %d messages with a time to live needs one", async (count) => {
    const other = new RedisChatMessageHistory({
      sessionId: `writes ${count}`,
      url: proxy.url,
      keyPrefix: uniquePrefix(),
      sessionTTL: 60,
    });
    await other.getMessages();
    const messages = Array.from({ length: count }, (_, index) =>
      index % 2 === 0 ? human(`q${index}`) : ai(`a${index}`),
    );
    expect(await tripsOf(() => other.addMessages(messages))).toBe(1);
    expect(await tripsOf(() => other.getTranscript())).toBe(1);
    await other.close();
  });

  it("a turn needs two, or three if it reduces", async () => {
    const trips: number[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const turnTrips = await tripsOf(async () => {
        await history.getMessages();
        await history.addMessages([human(`q${turn}`), ai(`a${turn}`)]);
      });
      trips.push(turnTrips);
    }
    expect([...new Set(trips)].sort()).toEqual([2, 3]);
  });
});

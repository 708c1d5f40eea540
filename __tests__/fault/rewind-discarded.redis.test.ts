import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { ai, human } from "../support/messages.js";

describe("A rewind to a message that goes while it runs", () => {
  const client = sharedClient();

  const chat = () => [human("q1", "q1"), ai("a1", { id: "a1" }), human("q2", "q2"), ai("a2", { id: "a2" })];
  const texts = async (history: RedisChatMessageHistory) => (await history.getTranscript()).map(({ text }) => text);

  /** Two histories of a session; the second acts between the read and the write of the first one's rewind. */
  async function raced(act: (other: RedisChatMessageHistory) => Promise<unknown>) {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({ client, keyPrefix });
    const settings = { sessionId: "s", retention: "discard", reduceWhen: "never" } as const;
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const other = new RedisChatMessageHistory({ client, redis: { keyPrefix }, ...settings, reducer });
    const history = new RedisChatMessageHistory({ store, ...settings, reducer });
    await history.addMessages(chat());
    const rewind = store.edits.rewind.bind(store.edits);
    let isFirst = true;
    jest.spyOn(store.edits, "rewind").mockImplementation(async (session, request) => {
      await (isFirst ? act(other) : undefined);
      isFirst = false;
      return rewind(session, request);
    });
    return history;
  }

  it("refuses where a reduction discarded it: what came after it is still there", async () => {
    const history = await raced((other) => other.reduceView());
    await expect(history.rewind("q1")).rejects.toMatchObject({ code: "unknown_message" });
    expect(await texts(history)).toEqual(["q2", "a2"]);
  });

  it("is done where another one removed it", async () => {
    const history = await raced((other) => other.rewind("q2"));
    await expect(history.rewind("q2")).resolves.toBeUndefined();
    expect(await texts(history)).toEqual(["q1", "a1"]);
  });

  it("is done where the session was cleared, and leaves alone what was written and discarded since", async () => {
    const history = await raced(async (other) => {
      await other.clear();
      await other.addMessages(
        [...chat(), human("q3", "q3")].map((message) => {
          message.id = `new-${message.id}`;
          return message;
        }),
      );
      await other.reduceView();
    });
    await expect(history.rewind("q1")).resolves.toBeUndefined();
    expect((await texts(history)).at(-1)).toBe("q3");
  });
});

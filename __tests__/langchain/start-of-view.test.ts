import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda } from "@langchain/core/runnables";
import { FakeStreamingChatModel } from "@langchain/core/utils/testing";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { InMemorySessionStore, RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";

/** A model that tells a small window. */
class SmallModel extends FakeStreamingChatModel {
  override get profile() {
    return { maxInputTokens: 1_000 };
  }

  override _generate(messages: BaseMessage[]) {
    const message = new AIMessage({ id: `a${messages.at(-1)!.id}`, content: `Yes. ${"It rains. ".repeat(10)}` });
    return Promise.resolve({ generations: [{ text: message.text, message }] });
  }
}

const run = { configurable: { sessionId: "s" } };
const model = new SmallModel({});
const prompt = ChatPromptTemplate.fromMessages([["placeholder", "{messages}"]]);
const asMessages = RunnableLambda.from((messages: BaseMessage[]) => ({ messages }));

const doors: Readonly<Record<string, (memory: RedisChatMemory, question: HumanMessage) => Promise<unknown>>> = {
  "an agent": (memory, question) =>
    createAgent({ model, middleware: [redisMemoryMiddleware({ memory })] }).invoke({ messages: [question] }, run),
  "a chain": (memory, question) =>
    withRedisMemory(asMessages.pipe(prompt).pipe(model), { memory }).invoke([question], run),
};

describe.each(Object.keys(doors))("the cut that the default window makes for a request of %s", (door) => {
  it("is where the next read begins, in another process too", async () => {
    const store = new InMemorySessionStore();
    let cuts = 0;
    const memory = new RedisChatMemory({ store, onEvent: ({ type }) => void (cuts += Number(type === "reduced")) });
    const turns = 100;
    const counts: number[] = [];
    for (let turn = 1; turn <= turns; turn += 1) {
      await doors[door]!(memory, new HumanMessage({ content: `Question ${turn}`, id: `q${turn}` }));
      await memory.drain();
      const { start, records, next } = await store.readView({ id: "s" });
      expect([next, start + records.length]).toEqual([2 * turn, 2 * turn]);
      counts.push(records.length);
    }
    const most = Math.max(...counts);
    // No read loads more than a window's worth, however long the session is; the cuts are few, because each makes room.
    expect(most).toBeLessThan(turns);
    expect(counts.slice(turns / 2).every((count) => count <= most)).toBe(true);
    expect(cuts).toBeGreaterThan(1);
    expect(cuts).toBeLessThan(turns / 2);
    const other = new RedisChatMemory({ store });
    expect(await other.history("s").getMessages()).toHaveLength(counts.at(-1)!);
    expect(await other.history("s").getTranscript()).toHaveLength(2 * turns);
  });
});

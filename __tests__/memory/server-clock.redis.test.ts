import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { closeMemories, events, newMemory } from "../support/memories.js";
import { ai, human } from "../support/messages.js";

const model = () => new FakeListChatModel({ responses: ["a"] });
const config = { configurable: { sessionId: "s" } };
const anHour = 3_600_000;

/** What writes a question and an answer into the session `s`. */
const doors: [name: string, write: (memory: RedisChatMemory) => Promise<unknown>][] = [
  ["a history", (memory) => memory.history("s").addMessages([human("q"), ai("a")])],
  ["a history with an owner", (memory) => memory.history("s", { owner: "ann" }).addMessages([human("q"), ai("a")])],
  [
    "a history that replaces messages",
    async (memory) => {
      await memory.history("s").addMessages([human("q", "q"), ai("old")]);
      await memory.history("s").replaceFrom("q", [human("q"), ai("a")]);
    },
  ],
  ["withTurn", (memory) => memory.withTurn("s", (history) => history.addMessages([human("q"), ai("a")]))],
  ["a chain", (memory) => withRedisMemory(model(), { memory, oneTurnAtATime: false }).invoke([human("q")], config)],
  [
    "a chain, one turn at a time",
    (memory) => withRedisMemory(model(), { memory, oneTurnAtATime: true }).invoke([human("q")], config),
  ],
  ...[false, true].map((oneTurnAtATime): [string, (memory: RedisChatMemory) => Promise<unknown>] => [
    oneTurnAtATime ? "an agent, one turn at a time" : "an agent",
    (memory) =>
      createAgent({
        model: model(),
        tools: [],
        middleware: [redisMemoryMiddleware({ memory, oneTurnAtATime })],
      }).invoke({ messages: [human("q")] }, config),
  ]),
  [
    "a HistoryManager",
    async (memory) => {
      const manager = new HistoryManager({ history: memory.history("s"), maxInputTokens: 100_000 });
      const asked = { originalUserMessage: "q", renderedUserMessage: "q", renderedSystemMessage: "" };
      await manager.getHistoryForModelCall(asked);
      manager.addAssistantMessage(ai("a"));
      await manager.commit();
    },
  ],
  [
    "MessageHistory.save",
    async (memory) => {
      const messages = MessageHistory.fromMessages([human("q"), ai("a")]);
      await messages.save(memory.history("s"));
    },
  ],
  [
    "a fork",
    async (memory) => {
      await memory.withTurn("source", (history) => history.addMessages([human("q"), ai("a")]));
      await memory.history("source").fork("s");
    },
  ],
  [
    "an import",
    async (memory) => {
      await memory.withTurn("s", (history) => history.addMessages([human("q"), ai("a")]));
      const lines: string[] = [];
      for await (const line of memory.sessions.export("s")) {
        lines.push(line);
      }
      await memory.history("s").clear();
      await memory.sessions.import(lines);
    },
  ],
];

/** Commands that were sent until now. */
const commands = () => events.filter(({ type }) => type === "command").length;

/** Minutes by which the stamps of the session's records are off the machine's clock, which the server has. */
async function minutesOff(memory: RedisChatMemory, now: () => number): Promise<number[]> {
  const { items } = await memory.history("s").getPage();
  return items.map(({ at }) => Math.round(Math.abs(at! - now()) / 60_000));
}

describe("records that a process with a wrong clock writes", () => {
  afterEach(closeMemories);
  afterEach(() => void jest.restoreAllMocks());

  it.each(doors.flatMap(([name, write]) => [-anHour, anHour].map((shift) => [name, shift, write] as const)))(
    "are stamped by the server's clock at %s (%i ms off)",
    async (_, shift, write) => {
      const now = Date.now.bind(Date);
      const memory = newMemory();
      jest.spyOn(Date, "now").mockImplementation(() => now() + shift);
      await write(memory);
      expect(await minutesOff(memory, now)).toEqual([0, 0]);
    },
  );

  it.each([-anHour, anHour])("cost one more round trip, once, in a process that is %i ms off", async (shift) => {
    const now = Date.now.bind(Date);
    const memory = newMemory();
    const tripsOf = async (write: () => Promise<unknown>) => {
      const before = commands();
      await write();
      return commands() - before;
    };
    jest.spyOn(Date, "now").mockImplementation(() => now() + shift);
    const write = () => memory.history("s").addMessages([human("q")]);
    expect([await tripsOf(write), await tripsOf(write), await tripsOf(write)]).toEqual([2, 1, 1]);
    const right = newMemory();
    jest.restoreAllMocks();
    expect(await tripsOf(() => right.history("s").addMessages([human("q")]))).toBe(1);
    expect(await minutesOff(memory, now)).toEqual([0, 0, 0]);
  });

  it.each([-anHour, anHour])("are stamped by the clock of a store in memory (%i ms off)", async (shift) => {
    const now = () => Date.now() + shift;
    const memory = new RedisChatMemory({ store: new InMemorySessionStore({ now }) });
    await memory.history("s").addMessages([human("q", "q"), ai("a")]);
    await memory.history("s").replaceFrom("q", [human("q"), ai("a")]);
    expect(await minutesOff(memory, now)).toEqual([0, 0]);
  });
});

import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { human } from "../support/messages.js";

const model = () => new FakeListChatModel({ responses: ["a"] });
const config = (owner: string) => ({ configurable: { sessionId: "s", owner } });
type Run = (memory: RedisChatMemory, owner: string, oneTurnAtATime: boolean) => Promise<unknown>;

const doors: [name: string, run: Run][] = [
  [
    "a chain",
    (memory, owner, oneTurnAtATime) =>
      withRedisMemory(model(), { memory, oneTurnAtATime }).invoke([human("q")], config(owner)),
  ],
  [
    "an agent",
    (memory, owner, oneTurnAtATime) =>
      createAgent({
        model: model(),
        tools: [],
        middleware: [redisMemoryMiddleware({ memory, oneTurnAtATime })],
      }).invoke({ messages: [human("q")] }, config(owner)),
  ],
];

describe("the owner in a run's config", () => {
  afterEach(closeMemories);

  it.each(doors.flatMap(([name, run]) => [false, true].map((held) => [name, held, run] as const)))(
    "at %s (one turn at a time: %s) claims the session, and refuses others, who change and hold nothing",
    async (_, held, run) => {
      const memory = newMemory();
      await run(memory, "ann", held);
      await memory.drain();
      expect((await memory.sessions.list({ owner: "ann" })).sessions.map(({ messages }) => messages)).toEqual([2]);
      await expect(run(memory, "bob", held)).rejects.toThrow(/belongs to another owner/);
      await memory.drain();
      expect(await memory.sessions.count({ owner: "bob" })).toBe(0);
      expect((await memory.history("s").stats()).messages).toBe(2);
      await memory.withTurn("s", () => undefined, { owner: "ann", waitMs: 0 });
    },
  );
});

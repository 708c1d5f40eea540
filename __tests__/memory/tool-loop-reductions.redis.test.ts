import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { pipeReducers } from "../../src/conversation/reducers/pipe-reducers.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { ChatHistoryToolResultReducer } from "../../src/conversation/reducers/tool-result-reducer.js";
import { approximateCounter } from "../../src/conversation/tokens/counters/approximate-counter.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

describe("a session of 20 tool turns with a reducer of tool results", () => {
  it("is reduced at most 6 times, and keeps its newest tool results whole", async () => {
    let reductions = 0;
    const memory = new RedisChatMemory({
      url: sharedRedisUrl(),
      redis: { keyPrefix: uniquePrefix() },
      reducer: pipeReducers(
        new ChatHistoryToolResultReducer({ keepLast: 3 }),
        new ChatHistoryTokenReducer({ maxTokens: 8_000, tokenCounter: approximateCounter() }),
      ),
      onEvent: ({ type }) => (reductions += type === "reduced" ? 1 : 0),
    });
    const history = memory.history("loop");
    for (let turn = 0; turn < 20; turn += 1) {
      const call = `c${turn}`;
      const messages = [human(`q${turn}`), aiCalls(call), tool(call, `row ${turn}, `.repeat(150)), ai(`a${turn}`)];
      await history.append(messages);
    }
    expect(reductions).toBeGreaterThan(0);
    expect(reductions).toBeLessThanOrEqual(6);
    const view = await history.getMessages();
    expect(view).toHaveLength(80);
    const whole = view.filter(({ type, text }) => type === "tool" && text.length > 1_000);
    expect(whole.slice(-3).map(({ text }) => text.slice(0, 6))).toEqual(["row 17", "row 18", "row 19"]);
    expect(whole.length).toBeLessThanOrEqual(6);
    await memory.close();
  });
});

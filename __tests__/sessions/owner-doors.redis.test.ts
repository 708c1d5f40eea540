import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { createAgent } from "langchain";
import { MemoryError } from "../../src/base/errors.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { characterCounter } from "../history-manager/instances.js";
import { ToolModel } from "../support/agents.js";
import { newMemory, texts } from "../support/memories.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { all } from "../support/all.js";

const client = sharedClient();

interface Caller {
  readonly owner?: string;
  readonly turnId: string;
}

/** One turn through a door in the name of an owner. */
type Door = (memory: RedisChatMemory, caller: Caller) => Promise<unknown>;

const inRun = ({ owner, turnId }: Caller) => ({ configurable: { sessionId: "s", turnId, ...(owner && { owner }) } });
const identity = ({ owner }: Caller) => (owner === undefined ? {} : { owner });

/** The models called while a turn ran; none may answer for what is refused. */
let answers = 0;
const answering = () => new ScriptedModel(() => `answer ${(answers += 1)}`);

const chainWith =
  (persist: "turn" | "step", oneTurnAtATime = true): Door =>
  (memory, caller) =>
    withRedisMemory(answering(), { memory, persist, oneTurnAtATime }).invoke("question", inRun(caller));

const agentWith =
  (persist: "turn" | "step", oneTurnAtATime = true): Door =>
  (memory, caller) => {
    const model = new ToolModel(() => `answer ${(answers += 1)}`);
    const middleware = [redisMemoryMiddleware({ memory, persist, oneTurnAtATime })];
    const agent = createAgent({ model, tools: [], middleware });
    return agent.invoke({ messages: [{ role: "user", content: "question" }] }, inRun(caller));
  };

const doors: Readonly<Record<string, Door>> = {
  "a chain (turn)": chainWith("turn"),
  "a chain (step)": chainWith("step"),
  "a chain (many turns at a time)": chainWith("turn", false),
  "a stream of a chain": async (memory, caller) => {
    await all(await withRedisMemory(answering(), { memory }).stream("question", inRun(caller)));
  },
  "an agent (turn)": agentWith("turn"),
  "an agent (step)": agentWith("step"),
  "an agent (many turns at a time)": agentWith("turn", false),
  "a HistoryManager": async (memory, caller) => {
    const history = memory.history("s", identity(caller));
    const manager = new HistoryManager({ history, maxInputTokens: 10_000, tokenCounter: characterCounter() });
    const said = { originalUserMessage: "question", renderedUserMessage: "question", renderedSystemMessage: "" };
    await manager.getHistoryForModelCall({ ...said, turnId: caller.turnId });
    manager.addAssistantMessage(new AIMessage(`answer ${(answers += 1)}`));
    await manager.commit();
  },
  RunnableWithMessageHistory: (memory, caller) => {
    const getMessageHistory = (sessionId: string) => memory.history(sessionId, identity(caller));
    const chain = new RunnableWithMessageHistory({ runnable: answering() as never, getMessageHistory });
    return chain.invoke([new HumanMessage({ id: caller.turnId, content: "question" })] as never, inRun(caller));
  },
};

/** An agent of LangChain passes on what a middleware throws as the cause of its own error. */
function memoryErrorIn(error: unknown): unknown {
  return MemoryError.isInstance(error) ? error : (error as Error).cause;
}

describe.each(Object.entries(doors))("%s in a session that has an owner", (_, door) => {
  it("is refused to every other owner: no read, no stored answer, no call of a model, no write, no hold", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix } });
    await door(memory, { owner: "ann", turnId: "t1" });
    await memory.drain();
    const before = [await storedBytes(client, keyPrefix), answers];
    // A repetition of a turn that is stored, and a new one; by this process, and by one that knows nothing.
    for (const [asked, turnId] of [
      [memory, "t1"],
      [memory, "t2"],
      [newMemory({ redis: { keyPrefix } }), "t1"],
      [newMemory({ redis: { keyPrefix } }), "t2"],
    ] as const) {
      const refusal = await door(asked, { owner: "ben", turnId }).catch(memoryErrorIn);
      expect(refusal).toMatchObject({ name: "ConflictError", code: "other_owner" });
      await asked.drain();
    }
    expect([await storedBytes(client, keyPrefix), answers]).toEqual(before);
    expect(await memory.sessions.count({ owner: "ben" })).toBe(0);
    await memory.withTurn("s", () => undefined, { owner: "ann", waitMs: 0 });
  });

  it("is open to its owner, and to calls that name none", async () => {
    const memory = newMemory();
    for (const caller of [{ owner: "ann", turnId: "t1" }, { owner: "ann", turnId: "t2" }, { turnId: "t3" }]) {
      await door(memory, caller);
    }
    const transcript = texts(await memory.history("s", { owner: "ann" }).getTranscript());
    expect(transcript.filter((text) => text === "question")).toHaveLength(3);
    expect((await memory.sessions.get("s"))?.owner).toBe("ann");
  });
});

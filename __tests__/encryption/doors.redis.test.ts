import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { createAgent } from "langchain";
import type { EncryptionOptions } from "../../src/sealed/keys/encryption-options.js";
import { MemoryError } from "../../src/base/errors.js";
import { HistoryManager } from "../../src/tool-loop/history-manager.js";
import { redisMemoryMiddleware } from "../../src/agent/middleware.js";
import { withRedisMemory } from "../../src/chain/with-redis-memory.js";
import type { MemorySettings } from "../../src/session/memory-context.js";
import type { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { RedisToolInvocationHistory } from "../../src/tool-log/redis-tool-invocation-history.js";
import { ChatHistorySummarizationReducer } from "../../src/reducers/summary/summarization-reducer.js";
import { characterCounter } from "../history-manager/instances.js";
import { lookup, lookupCall, ToolModel } from "../support/agents.js";
import { closeMemories, newMemory, texts } from "../support/memories.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKey, testKeys } from "../support/test-keys.js";

const client = sharedClient();
afterEach(closeMemories);

/** Stands in everything that is said, called, found, uploaded, named and summarized. */
const secret = "sesame";
const session = (turnId: string) => ({ configurable: { sessionId: "s", turnId } });
const answering = () => new ScriptedModel((sent) => `${secret} answer to ${sent.at(-1)!.text}`);
const summarizer = new ScriptedModel(() => `${secret} summary`);

/** One turn through a door; returns what comes of it. */
type Door = (memory: RedisChatMemory, turnId: string) => Promise<unknown>;

const doors: Readonly<Record<string, Door>> = {
  "a history": async (memory, turnId) => {
    const history = memory.history("s", { owner: "ann", title: `${secret} title`, metadata: { note: secret } });
    const turn = [new HumanMessage(`${secret} question`), new AIMessage(`${secret} answer`)];
    await history.append(turn, { turnId, side: { set: { note: `${secret} side` } } });
    return history.getMessages();
  },
  "a chain": async (memory, turnId) => {
    const chain = withRedisMemory(answering(), { memory, persist: "step" });
    return chain.invoke(`${secret} question`, session(turnId));
  },
  "an agent": async (memory, turnId) => {
    const model: ToolModel = new ToolModel(() =>
      model.sent.length === 1 ? lookupCall(`${secret} query`) : `${secret} answer`,
    );
    const agent = createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] });
    return agent.invoke({ messages: [{ role: "user", content: `${secret} question` }] }, session(turnId));
  },
  "a HistoryManager": async (memory, turnId) => {
    const history = memory.history("s");
    const manager = new HistoryManager({ history, maxInputTokens: 100_000, tokenCounter: characterCounter() });
    await manager.addUploadedContent([
      { id: `up-${turnId}`, name: `${secret}.txt`, mimeType: "text/plain", text: `${secret} upload` },
    ]);
    const request = {
      originalUserMessage: `${secret} question`,
      renderedUserMessage: `rendered ${secret}`,
      renderedSystemMessage: "",
    };
    await manager.getHistoryForModelCall({ ...request, turnId });
    const call = lookupCall(`${secret} query`);
    manager.addAssistantMessage(call);
    const { id } = call.tool_calls![0]!;
    const chunks = [{ id: "doc", chunkId: "1", text: `${secret} chunk` }];
    await manager.addToolCallResults([{ id: id!, name: "lookup", chunks }]);
    await manager.getHistoryForModelCall({ ...request, turnId });
    manager.addAssistantMessage(new AIMessage(`${secret} answer [source1]`));
    await manager.commit();
    return memory.history("s").getMessages();
  },
  RunnableWithMessageHistory: async (memory, turnId) => {
    const { getMessageHistory } = memory;
    const chain = new RunnableWithMessageHistory({ runnable: answering() as never, getMessageHistory });
    return chain.invoke([new HumanMessage({ id: turnId, content: `${secret} question` })] as never, session(turnId));
  },
  RedisToolInvocationHistory: async (memory, turnId) => {
    const log = new RedisToolInvocationHistory({ memory, sessionId: "s" });
    const run = { name: "lookup", inputs: { query: `${secret} query` }, outputs: `${secret} found`, status: "success" };
    await log.addInvocation({ ...run, toolCallId: turnId });
    return log.toList();
  },
};

/** An agent of LangChain passes on what a middleware throws as the cause of its own error. */
function memoryErrorIn(error: unknown): unknown {
  return MemoryError.isInstance(error) ? error : (error as Error).cause;
}

describe.each(Object.entries(doors))("%s with encryption", (_, door) => {
  const use = (keyPrefix: string, encryption: EncryptionOptions | undefined, settings: MemorySettings = {}) => {
    const memory = newMemory({ redis: { keyPrefix }, ...settings, ...(encryption && { encryption }) });
    return async (turnId: string) => {
      const result = await door(memory, turnId);
      await memory.drain();
      return result;
    };
  };

  it("gives back what was stored, and leaves no word of it in any byte of Redis", async () => {
    const keyPrefix = uniquePrefix();
    const reducer = () => new ChatHistorySummarizationReducer({ model: summarizer, targetCount: 2, thresholdCount: 0 });
    for (const turnId of ["t1", "t2", "t3"]) {
      await use(keyPrefix, testKeys("k1"), { reducer: reducer() })(turnId);
    }
    const all = [...(await storedBytes(client, keyPrefix))].flat().join("\n");
    expect(all).toMatch(/"sealed":"k1"|sealed:k1\./);
    expect(all).not.toContain(secret);
    expect(all).not.toContain(Buffer.from(secret).toString("base64").slice(0, 8));
    const again = await use(keyPrefix, testKeys("k2", "k1"), { reducer: reducer() })("t4");
    expect(JSON.stringify(again)).toContain(secret);
    const transcript = await newMemory({ redis: { keyPrefix }, encryption: testKeys("k2", "k1") })
      .history("s")
      .getTranscript();
    const questions = texts(transcript).filter((text) => text === `${secret} question`);
    expect(questions).toHaveLength(transcript.length > 0 ? 4 : 0);
  });

  it("is seen by the search where nothing is encrypted", async () => {
    const keyPrefix = uniquePrefix();
    await use(keyPrefix, undefined)("t1");
    expect([...(await storedBytes(client, keyPrefix))].flat().join()).toContain(secret);
  });

  it.each([
    ["unknown_key", "without keys", undefined],
    ["unknown_key", "with other keys", testKeys("k2")],
    ["wrong_key", "with another key of that id", { current: { ...testKey("k2"), id: "k1" } }],
  ] as const)("is refused with %s to a process %s, and changes nothing", async (code, _who, encryption) => {
    const keyPrefix = uniquePrefix();
    await use(keyPrefix, testKeys("k1"))("t1");
    // Without the owner's list, where a session moves to the front before a write that is refused.
    const before = await storedBytes(client, `${keyPrefix}:{s}`);
    for (const turnId of ["t1", "t2"]) {
      const refusal = await use(keyPrefix, encryption)(turnId).catch(memoryErrorIn);
      expect(refusal).toMatchObject({ name: "EncryptionError", code });
    }
    expect(await storedBytes(client, `${keyPrefix}:{s}`)).toEqual(before);
  });

  it("seals what beforeStore returns, and nothing else", async () => {
    const keyPrefix = uniquePrefix();
    const beforeStore = (message: BaseMessage) => {
      message.content = String(message.text).replaceAll(secret, "hidden");
      return message;
    };
    await use(keyPrefix, testKeys("k1"), { beforeStore })("t1");
    const stored = await newMemory({ redis: { keyPrefix }, encryption: testKeys("k1") })
      .history("s")
      .getTranscript();
    expect(texts(stored).join(" ")).not.toContain(secret);
    const all = [...(await storedBytes(client, keyPrefix))].flat().join("\n");
    expect(all).not.toMatch(/sesame|hidden/);
  });
});

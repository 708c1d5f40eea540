import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisToolInvocationHistory } from "../../src/formats/tool-log/tool-invocation-history.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { characterCounter } from "../history-manager/instances.js";
import { lookup, lookupCall, ToolModel } from "./agents.js";
import { ScriptedModel } from "./scripted-model.js";

/** Part of everything that the doors say, call, find, upload and name. */
export const secret = "sesame";
const session = (turnId: string) => ({ configurable: { sessionId: "s", turnId } });
const answering = () => new ScriptedModel((sent) => `${secret} answer to ${sent.at(-1)!.text}`);

/** One turn through a door; returns what comes of it. */
type Door = (memory: RedisChatMemory, turnId: string) => Promise<unknown>;

/** Doors that write a turn to the session `s`, by their names. */
export const doors: Readonly<Record<string, Door>> = {
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

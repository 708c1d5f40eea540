import { RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { createMiddleware, type AgentMiddleware } from "langchain";
import { z } from "zod";
import { repairConversation } from "../structure/repair/repair.js";
import type { RedisChatMemory } from "../memory/redis-chat-memory.js";
import { lazy, objectWith, parseOptions } from "../options.js";
import { sessionIdOf, sessionIdSchema, type SessionIdOption } from "./session-id.js";

/** LangGraph's id for "all messages"; written out so that this entry does not import LangGraph itself. */
const allMessages = "__remove_all__";

const sessionHint =
  'pass { configurable: { sessionId: "…" } } to the agent, or give the middleware the option "sessionId"';

/** What a session can be named by: what the agent was invoked with. */
export interface AgentRuntime {
  readonly configurable?: Readonly<Record<string, unknown>>;
  readonly context?: unknown;
}

/** Options of {@link redisMemoryMiddleware}. */
export interface RedisMemoryMiddlewareOptions {
  /** Where the conversations are. */
  readonly memory: RedisChatMemory;
  /** The session, or how to find it. @default `configurable.sessionId`, else `configurable.thread_id` */
  readonly sessionId?: SessionIdOption<AgentRuntime>;
  /**
   * When messages are stored. `turn`: once, when the agent is done; a run that fails stores nothing. `step`: before
   * each model call and at the end, so that a failed run leaves what was said up to it. @default "turn"
   */
  readonly persist?: "turn" | "step";
}

const optionsSchema = lazy(() =>
  z.strictObject({
    memory: objectWith<RedisChatMemory>(["history", "getMessageHistory"], "a RedisChatMemory"),
    sessionId: sessionIdSchema<AgentRuntime>("runtime"),
    persist: z.enum(["turn", "step"], 'must be "turn" or "step"').default("turn"),
  }),
);

/** Ids of what the run began with; underscored, so that it is neither input nor output of the agent. */
const stateSchema = lazy(() => z.object({ _memoryIds: z.array(z.string()).default([]) }));

interface AgentState {
  readonly messages: BaseMessage[];
  readonly _memoryIds?: string[];
}

/**
 * Middleware that gives an agent of LangChain's `createAgent` a memory: the session's view stands before what the agent
 * is invoked with, and what the run adds is stored. One read and one write a run, with `persist: "step"` one more write
 * before each model call; an error of one rejects the run.
 *
 * Works beside a checkpointer: messages that its state holds already are not loaded twice. What the model gets is
 * repaired where providers would refuse it; the agent's state and the stored messages stay as they are.
 *
 * @example
 * const agent = createAgent({ model, tools, middleware: [redisMemoryMiddleware({ memory })] });
 * await agent.invoke({ messages: [new HumanMessage("Hi")] }, { configurable: { sessionId: "ann-1" } });
 */
export function redisMemoryMiddleware(options: RedisMemoryMiddlewareOptions): AgentMiddleware {
  const { memory, persist, sessionId } = parseOptions("redisMemoryMiddleware", optionsSchema(), options);
  const historyOfRun = () => {
    const run = currentRun();
    const { configurable = {} } = run;
    const named: unknown = sessionId ?? configurable["sessionId"] ?? configurable["thread_id"];
    return memory.history(sessionIdOf({ named, run, owner: "redisMemoryMiddleware", hint: sessionHint }));
  };
  const store = async ({ messages, _memoryIds = [] }: AgentState) => {
    const loaded = new Set(_memoryIds);
    await historyOfRun().append(messages.filter(({ id }) => id === undefined || !loaded.has(id)));
  };
  return createMiddleware({
    name: "RedisMemory",
    stateSchema: stateSchema(),
    beforeAgent: async (state) => {
      const view = await historyOfRun().getMessages();
      const brought = withoutKnown(state.messages, view);
      return {
        messages: [new RemoveMessage({ id: allMessages }), ...view, ...brought],
        _memoryIds: view.flatMap(({ id }) => (id === undefined ? [] : [id])),
      };
    },
    ...(persist === "step" && {
      beforeModel: async (state: AgentState) => store(state),
    }),
    wrapModelCall: (request, handler) =>
      handler({ ...request, messages: repairConversation(request.messages, { profile: "langchain" }).messages }),
    afterAgent: async (state) => store(state),
  }) as AgentMiddleware;
}

/**
 * What the running agent was invoked with. The runtime that hooks are given has no `configurable` before langchain
 * 1.2.30, and its `context` is empty for a middleware without a schema of it.
 */
function currentRun(): AgentRuntime {
  const config = AsyncLocalStorageProviderSingleton.getRunnableConfig() as AgentRuntime | undefined;
  const { configurable, context } = config ?? {};
  return { ...(configurable && { configurable }), ...(context !== undefined && { context }) };
}

/** What comes after the newest message that the view holds too; a checkpointer's state begins with those. */
function withoutKnown(messages: readonly BaseMessage[], view: readonly BaseMessage[]): BaseMessage[] {
  const ids = new Set(view.map(({ id }) => id));
  const known = messages.findLastIndex(({ id }) => id !== undefined && ids.has(id));
  return messages.slice(known + 1);
}

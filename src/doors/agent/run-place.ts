import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { ConfigurationError } from "../../base/errors.js";
import {
  sessionIdOf,
  type SessionIdOption,
  type HistoryIdentity,
  readRunNames,
} from "../../memory/session/identity.js";
import { callSignal } from "../../memory/turns/langgraph-config.js";

const owner = "redisMemoryMiddleware";
const sessionHint =
  'pass { configurable: { sessionId: "…" } } to the agent, or give the middleware the option "sessionId"';

/**
 * Invocation arguments of an agent, for the option `sessionId`.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
 * import * as z from "zod";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const contextSchema = z.object({ userId: z.string() });
 * const middleware = redisMemoryMiddleware({ memory, contextSchema, sessionId: ({ context }) => context?.userId });
 */
export interface AgentRuntime<Context = unknown> {
  /** The `configurable` of the config that the agent was invoked with. */
  readonly configurable?: Readonly<Record<string, unknown>>;
  /** The `context` that the agent was invoked with. */
  readonly context?: Context;
}

/** Place of a run: its session, and LangGraph's metadata. */
export interface RunPlace {
  readonly sessionId: string;
  readonly identity: HistoryIdentity;
  readonly turnId: string | undefined;
}

/**
 * The config of the running hook. Before langchain 1.2.30 the runtime of hooks has no `configurable`, and its `context`
 * is empty without a context schema.
 */
export function currentConfig(): RunnableConfig & AgentRuntime {
  return (AsyncLocalStorageProviderSingleton.getRunnableConfig() ?? {}) as RunnableConfig & AgentRuntime;
}

/** The agent's checkpoint namespace in nested graphs; empty for a root agent. */
export function namespaceOf({ configurable }: AgentRuntime): string {
  const namespace: unknown = configurable?.["checkpoint_ns"];
  return typeof namespace === "string" ? namespace.split("|").slice(0, -1).join("|") : "";
}

/** The config by which a checkpointer finds the newest checkpoint of the agent. */
export function newestPlace(config: AgentRuntime): { readonly configurable: Readonly<Record<string, unknown>> } {
  return { configurable: { thread_id: config.configurable?.["thread_id"], checkpoint_ns: namespaceOf(config) } };
}

/** True for an agent inside a tool of another agent. */
function isInTool(config: AgentRuntime): boolean {
  return namespaceOf(config)
    .split("|")
    .some((part) => part.startsWith("tools:"));
}

/**
 * True for code called by an agent's run: its tools, the agents and chains in them, its hooks. All of one LangGraph
 * call shares that call's signal; in a graph of agents the namespace distinguishes them.
 */
export function isPartOf(caller: AgentRuntime, run: AgentRuntime): boolean {
  const [ofCaller, ofRun] = [callSignal(caller), callSignal(run)];
  const [place, around] = [caller.configurable?.["checkpoint_ns"], namespaceOf(run)];
  const isWithin = around === "" || (typeof place === "string" && place.startsWith(`${around}|`));
  return ofRun !== undefined && ofCaller === ofRun && isWithin;
}

/**
 * The session and the turn of the run.
 *
 * @throws ConfigurationError `sessionId` without an id, and in a subagent whose middleware lacks that option; errors of
 *   {@link readRunNames}.
 */
export function placeOf(
  config: AgentRuntime,
  { sessionId, context }: { readonly sessionId: SessionIdOption<AgentRuntime> | undefined; readonly context: unknown },
): RunPlace {
  const { configurable = {} } = config;
  const isSubagent = isInTool(config);
  if (isSubagent && sessionId === undefined) {
    const error = new ConfigurationError(
      "sessionId",
      `${owner}: this agent runs inside a tool of another agent, whose session it would write into; ` +
        'give its middleware the option "sessionId".',
    );
    // LangChain passes a tool's error to the model, where no developer sees it.
    process.emitWarning(error);
    throw error;
  }
  const run = { configurable, ...(context !== undefined && { context }) };
  const named: unknown = sessionId ?? configurable["sessionId"] ?? configurable["thread_id"];
  const names = readRunNames(configurable, owner, { namesSession: sessionId !== undefined });
  // A subagent inherits the config, but has a session and turn of its own.
  const own = isSubagent ? {} : names.label;
  return {
    sessionId: sessionIdOf({ named, run, owner, hint: sessionHint }),
    identity: { ...names.owner, ...own },
    turnId: isSubagent ? undefined : names.turnId,
  };
}

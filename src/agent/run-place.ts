import type { RunnableConfig } from "@langchain/core/runnables";
import { report, type MemoryEventHandler } from "../base/events.js";
import { ConfigurationError } from "../base/errors.js";
import { sessionIdOf, type SessionIdOption } from "../chain/session-id.js";
import type { HistoryIdentity } from "../session/history-identity.js";
import { currentRun } from "../session/reduction-trace.js";
import { readRunNames } from "../session/session-config.js";

const owner = "redisMemoryMiddleware";
const sessionHint =
  'pass { configurable: { sessionId: "…" } } to the agent, or give the middleware the option "sessionId"';

/**
 * What a session can be named by: what the agent was invoked with.
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

/** Where a run stands: its session, and what LangGraph says about it. */
export interface RunPlace {
  readonly sessionId: string;
  /** Whose session it is and what it is called, where the caller says so. */
  readonly identity: HistoryIdentity;
  /** The turn's id, where the caller gave one. */
  readonly turnId: string | undefined;
  /** True where the state comes from a checkpoint, so that it holds messages of earlier runs. */
  readonly hasCheckpointer: boolean;
}

/**
 * The config of the hook that runs. The runtime that hooks are given has no `configurable` before langchain 1.2.30, and
 * its `context` is empty for a middleware without a schema of it.
 */
export function currentConfig(): RunnableConfig & AgentRuntime {
  return (currentRun() ?? {}) as RunnableConfig & AgentRuntime;
}

/** The agent's place in a graph of graphs: empty for one that runs by itself. */
export function namespaceOf({ configurable }: AgentRuntime): string {
  const namespace: unknown = configurable?.["checkpoint_ns"];
  return typeof namespace === "string" ? namespace.split("|").slice(0, -1).join("|") : "";
}

/** True where the run's state comes from a checkpoint. */
export function hasCheckpointer({ configurable }: AgentRuntime): boolean {
  return Boolean(configurable?.["__pregel_checkpointer"]);
}

/** True for an agent that runs inside of a tool of another agent. */
function isInTool(config: AgentRuntime): boolean {
  return namespaceOf(config)
    .split("|")
    .some((part) => part.startsWith("tools:"));
}

/**
 * True for code that a run of an agent calls: its tools, the agents and chains in them, its hooks. All that LangGraph
 * runs for one call knows one signal of that call; in a graph of agents the namespace tells them apart.
 */
export function isPartOf(caller: AgentRuntime, run: AgentRuntime): boolean {
  const [ofCaller, ofRun] = [callSignal(caller), callSignal(run)];
  const [place, around] = [caller.configurable?.["checkpoint_ns"], namespaceOf(run)];
  const isWithin = around === "" || (typeof place === "string" && place.startsWith(`${around}|`));
  return ofRun !== undefined && ofCaller === ofRun && isWithin;
}

/** The signal that LangGraph makes for each call of a graph; undefined with an older one. */
export function callSignal({ configurable }: AgentRuntime): AbortSignal | undefined {
  return (configurable?.["__pregel_abort_signals"] as { externalAbortSignal?: AbortSignal } | undefined)
    ?.externalAbortSignal;
}

/**
 * The session and the turn of the run.
 *
 * @throws ConfigurationError `sessionId` where none is named, and in a subagent whose middleware has no option for it;
 *   what {@link readRunNames} throws.
 */
function placeOf(
  config: AgentRuntime,
  { sessionId, context }: { readonly sessionId: SessionIdOption<AgentRuntime> | undefined; readonly context: unknown },
): RunPlace {
  const { configurable = {} } = config;
  const isSubagent = isInTool(config);
  if (isSubagent && sessionId === undefined) {
    throw new ConfigurationError(
      "sessionId",
      `${owner}: this agent runs inside a tool of another agent, whose session it would write into; ` +
        'give its middleware the option "sessionId".',
    );
  }
  const run = { configurable, ...(context !== undefined && { context }) };
  const named: unknown = sessionId ?? configurable["sessionId"] ?? configurable["thread_id"];
  const names = readRunNames(configurable, owner, { namesSession: sessionId !== undefined });
  // A subagent inherits the config, but its session and turn are others than those that the caller names.
  const own = isSubagent ? {} : names.label;
  return {
    sessionId: sessionIdOf({ named, run, owner, hint: sessionHint }),
    identity: { ...names.owner, ...own },
    turnId: isSubagent ? undefined : names.turnId,
    hasCheckpointer: hasCheckpointer(config),
  };
}

/**
 * Finds the place of each run, and tells the developer of one that has none inside of a tool: LangChain gives the error
 * of a tool to the model, which nobody reads. By the event, and once on the console.
 */
export function placeFinder(onEvent: MemoryEventHandler | undefined): typeof placeOf {
  let isTold = false;
  return (config, options) => {
    try {
      return placeOf(config, options);
    } catch (error) {
      if (isInTool(config)) {
        const { configurable = {} } = config;
        const sessionId = [configurable["sessionId"], configurable["thread_id"]].find((id) => typeof id === "string");
        const place = { sessionId: (sessionId as string | undefined) ?? "", turnId: undefined };
        report(onEvent, { type: "turn_not_stored", ...place, reason: "failed", error });
        if (!isTold) {
          isTold = true;
          process.emitWarning(error as Error);
        }
      }
      throw error;
    }
  };
}

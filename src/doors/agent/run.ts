import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { overridesAppend, type RedisChatMessageHistory } from "../../memory/histories/redis-chat-message-history.js";
import type { ConversationSession } from "../../memory/session/conversation-session.js";
import type { ProfileChoice } from "../../conversation/structure/profiles/check-profile.js";
import { canOpenByWriting, idsOf } from "../../memory/turns/open-turn.js";
import { interruptedMessage, callSignal } from "../../memory/turns/stop.js";
import { Turn } from "../../memory/turns/turn.js";
import type { TurnHolding, TurnPolicy } from "../../memory/turns/turn-setting.js";
import type { ModelCall } from "../../memory/turns/turn-requests.js";
import { ConfigurationError } from "../../base/errors.js";
import { sessionIdOf, readRunNames } from "../../memory/session/identity.js";
import type { SessionIdOption, HistoryIdentity } from "../../memory/session/identity.js";
import { mayCall } from "../../conversation/messages/content.js";
import { roleOf } from "../../conversation/messages/message.js";

/** Constructor arguments of {@link AgentRun}. */
export interface RunSetting {
  readonly history: RedisChatMessageHistory;
  readonly session: ConversationSession;
  readonly place: RunPlace;
  readonly profile: ProfileChoice | undefined;
  readonly policy: TurnPolicy;
  readonly parts: StateParts;
  /** Returns how the run holds its session now; undefined where it does not. */
  readonly holding: (() => TurnHolding) | undefined;
}

/** One run of an agent: translates its state for a {@link Turn}. */
export class AgentRun {
  readonly turn: Turn;
  readonly #parts: StateParts;
  /** Ids of the state's messages that were stored when the run began, or never will be. */
  readonly #settled: ReadonlySet<string>;
  /** Ids of the state's messages that are in the view, or not for the model. */
  readonly #hidden: ReadonlySet<string>;
  /** True if the turn was stored with its answer before this run. */
  readonly #isDone: boolean;

  private constructor({ parts }: RunSetting, turn: Turn) {
    const { opened } = turn;
    this.turn = turn;
    this.#parts = parts;
    const ofTurn = new Set(idsOf(opened.turn));
    const ofInput = new Set(idsOf(opened.newMessages));
    const own = opened.stored.map(({ message }) => message);
    const inStore = idsOf(parts.input).filter((id) => !ofInput.has(id));
    const copies = copiesIn(parts, own);
    this.#settled = new Set([...copies, ...inStore, ...idsOf(own)]);
    this.#hidden = new Set([...copies, ...inStore.filter((id) => !ofTurn.has(id))]);
    // New messages behind a complete turn: the caller continues it, but its name is taken.
    const goesOn = opened.state === "stored" && idsOf(parts.after).some((id) => !this.#settled.has(id));
    if (goesOn) {
      turn.continueUnnamed();
    }
    this.#isDone = turn.replay !== undefined;
  }

  /**
   * Reads the session and finds the new messages of the state. With `writes`, the question is stored in the same round
   * trip as it stands in the state, where that can tell whether it is new.
   */
  static async open(
    setting: RunSetting,
    { state, writes }: { readonly state: readonly BaseMessage[]; readonly writes: boolean },
  ): Promise<AgentRun> {
    const { history, place, parts } = setting;
    const { input } = parts;
    const later = new Set(idsOf(parts.after));
    const current = withoutSummaries(writes ? state : []);
    const isQuestion = current[0]?.id !== undefined && current[0].id === input[0]?.id;
    const turn = await Turn.open(
      {
        turnId: turnIdOf(place, parts),
        isRewritten: overridesAppend(history),
        isInState: ({ id }) => id !== undefined && later.has(id),
        ...setting,
      },
      { messages: input, changed: state, written: isQuestion && canOpenByWriting(current) ? current : [] },
    );
    return new AgentRun(setting, turn);
  }

  /** The stored messages missing in the state, if the turn is stored with its answer; else undefined. */
  replay(): BaseMessage[] | undefined {
    if (!this.#isDone) {
      return undefined;
    }
    this.turn.reportReplay();
    return missingIn(this.#parts, this.turn.storedAnswer);
  }

  get storedAnswer(): readonly BaseMessage[] | undefined {
    const answer = this.turn.replay && this.turn.storedAnswer;
    return answer === undefined || answer.length === 0 ? undefined : answer;
  }

  /** The messages of a request: the reduced view and the turn, repaired. */
  async request(state: readonly BaseMessage[], sent: readonly BaseMessage[], call: ModelCall): Promise<BaseMessage[]> {
    const all = { isWhole: true, turn: this.#turnIn(state), changes: { state, sent }, ...call };
    const { history, turn } = await this.turn.requests.make(all);
    return [...history, ...turn];
  }

  answered<M extends BaseMessage>(answer: M, state: readonly BaseMessage[]): M {
    return this.turn.requests.answered(answer, (id) => state.some((message) => message.id === id));
  }

  /** Stores the finished steps in the state, and the question. */
  step(state: readonly BaseMessage[]): Promise<void> {
    return this.turn.step(() => this.#unsettled(state));
  }

  /** Stores the rest of the state's turn, and releases its hold in the same step. */
  finish(state: readonly BaseMessage[]): Promise<void> {
    return this.turn.finish(() => this.#unsettled(state), { config: currentConfig() });
  }

  /** Stores a stopped run: the turn so far, and the model's partial output. */
  stop(state: readonly BaseMessage[], partial: BaseMessage | undefined): Promise<void> {
    const said = interruptedMessage(partial);
    return this.turn.stop(() => [...this.#unsettled(state), ...(said === undefined ? [] : [said])]);
  }

  /** Marks the question, or the results that the model was to read, if the provider would refuse them again. */
  fail(error: unknown, state: readonly BaseMessage[]): Promise<void> {
    return this.turn.fail(error, () => ({ messages: this.#unsettled(state) }));
  }

  #unsettled(state: readonly BaseMessage[]): BaseMessage[] {
    const isNew = (id: string) => !this.#settled.has(id) && !this.turn.hasStored(id);
    return withoutSummaries(state).filter(({ id }) => id === undefined || isNew(id));
  }

  correction(state: readonly BaseMessage[]): BaseMessage[] | undefined {
    const isOpen = this.turn.opened.state === "open";
    const missing = isOpen ? missingIn(this.#parts, this.turn.storedAnswer) : [];
    const answer = this.#isDone ? undefined : this.storedAnswer;
    return correctedState({ parts: this.#parts, state, answer, missing });
  }

  /** The turn's messages, in the state's version if it holds them. */
  #turnIn(state: readonly BaseMessage[]): BaseMessage[] {
    const { turn } = this.turn.opened;
    const ids = new Set(idsOf(turn));
    const current = new Map(state.map((message) => [message.id, message]));
    const later = withoutSummaries(state).filter(
      ({ id }) => id === undefined || (!this.#hidden.has(id) && !ids.has(id)),
    );
    return [...turn.map((message) => current.get(message.id) ?? message), ...later];
  }
}

/** How errors name the middleware. */
export const middlewareName = "redisMemoryMiddleware";
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
interface RunPlace {
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
      `${middlewareName}: this agent runs inside a tool of another agent, whose session it would write into; ` +
        'give its middleware the option "sessionId".',
    );
    // LangChain passes a tool's error to the model, where no developer sees it.
    process.emitWarning(error);
    throw error;
  }
  const run = { configurable, ...(context !== undefined && { context }) };
  const named: unknown = sessionId ?? configurable["sessionId"] ?? configurable["thread_id"];
  const names = readRunNames(configurable, middlewareName, { namesSession: sessionId !== undefined });
  // A subagent inherits the config, but has a session and turn of its own.
  const own = isSubagent ? {} : names.label;
  return {
    sessionId: sessionIdOf({ named, run, owner: middlewareName, hint: sessionHint }),
    identity: { ...names.owner, ...own },
    turnId: isSubagent ? undefined : names.turnId,
  };
}

/** The parts of an agent's state: the input, which may hold a client's history, and messages added by this run. */
interface StateParts {
  readonly input: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
}

/** Splits the messages of a state behind its question. */
export function splitState(messages: readonly BaseMessage[]): StateParts {
  const own = withoutSummaries(messages);
  const question = own.findLastIndex((message) => roleOf(message) === "human");
  const end = question < 0 ? own.length : question + 1;
  return { input: own.slice(0, end), after: own.slice(end) };
}

/** Removes summaries of LangChain's summarizationMiddleware, which replace stored messages. */
export function withoutSummaries(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.filter(({ additional_kwargs }) => additional_kwargs?.["lc_source"] !== "summarization");
}

/** The turn's id: the caller's, else the id of the user message, so that the same message is answered once. */
export function turnIdOf({ turnId }: RunPlace, { input }: StateParts): string | undefined {
  const last = input.at(-1);
  return turnId ?? (last !== undefined && roleOf(last) === "human" ? last.id : undefined);
}

/** Ids of a client's own copy of a stored answer behind its question. */
function copiesIn({ after }: StateParts, stored: readonly BaseMessage[]): string[] {
  const ids = new Set(idsOf(stored));
  const copy = after.filter(({ id }) => id === undefined || !ids.has(id));
  if (copy.length === 0 || ids.size === 0) {
    return [];
  }
  const isSpoken = (message: BaseMessage) => roleOf(message) === "ai" && !mayCall(message);
  return stored.some((message) => roleOf(message) === "ai") && copy.every(isSpoken) ? idsOf(copy) : [];
}

/** The stored messages missing in a state. */
function missingIn({ after }: StateParts, stored: readonly BaseMessage[]): BaseMessage[] {
  const there = new Set(idsOf(after));
  return stored.filter(({ id }) => id === undefined || !there.has(id));
}

/** LangGraph's `RemoveMessage` id for all messages of the state. */
const removeAll = "__remove_all__";

/** The final state of a run, and the stored part of its turn. */
interface EndOfRun {
  readonly parts: StateParts;
  readonly state: readonly BaseMessage[];
  /** Answer stored by another run of the turn, if that was first. */
  readonly answer: readonly BaseMessage[] | undefined;
  /** Steps of the earlier run that this one resumed. */
  readonly missing: readonly BaseMessage[];
}

/** State update that makes the state equal to the stored turn; undefined if it is. */
function correctedState({ parts, state, answer, missing }: EndOfRun): BaseMessage[] | undefined {
  const inputIds = new Set(idsOf(parts.input));
  if (answer !== undefined) {
    const gone = idsOf(state).filter((id) => !inputIds.has(id));
    return [...gone.map((id) => new RemoveMessage({ id })), ...answer];
  }
  if (missing.length === 0) {
    return undefined;
  }
  // The steps belong before this run's messages, but the state's reducer only appends.
  const last = parts.input.at(-1)?.id;
  const at = state.findLastIndex(({ id }) => id === last) + 1;
  return [new RemoveMessage({ id: removeAll }), ...state.slice(0, at), ...missing, ...state.slice(at)];
}

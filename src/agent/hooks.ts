import { SystemMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { Runnable, RunnableConfig } from "@langchain/core/runnables";
import { mayCall } from "../messages/calls.js";
import { changeMessage } from "../messages/change-message.js";
import { mergeMessages } from "../messages/copies/merge-messages.js";
import { roleOf } from "../messages/roles.js";
import { ConflictError, MemoryError } from "../base/errors.js";
import { report } from "../base/events.js";
import { showAnswer } from "../turns/show-answer.js";
import type { AskedState } from "./asked-question.js";
import { hearQuestions } from "./observed-checkpointer.js";
import { AgentRun, type RunSetting } from "./run.js";
import { turnIdOf } from "./state.js";
import { SaidSoFar, StopListener, stopSignal } from "../turns/stop.js";
import type { TurnPolicy } from "../turns/turn.js";
import { currentConfig, hasCheckpointer } from "./run-place.js";
import type { RunTurn } from "./run-turn.js";
import { asAnswer, isStructured, structuredAnswer, type ResponseFormat } from "./structured-answer.js";
import { frontMarks, withinMarks } from "../structure/rules/mark-rules.js";
import type { StructureCriteria } from "../structure/rules/rules.js";
import { withCacheMarks } from "../reducers/prompt-cache/marks.js";
import { boundThoughts, type BoundThoughts, type ModelPlan } from "../structure/seam/model-input.js";
import type { StructureProfile } from "../structure/profiles/profile.js";
import type { ModelProfile } from "../structure/seam/profile-of.js";

/** How requests are sent, and the hold of a run. */
export interface HookOptions {
  readonly promptCacheMarks: boolean;
  /** The session's hold, if runs of a session are serialized. */
  readonly turn: RunTurn | undefined;
}

/** The used part of a model call's request. */
interface CallRequest extends ResponseFormat {
  readonly messages: BaseMessage[];
  readonly model?: unknown;
  /** Before langchain 1.1 the text alone. */
  readonly systemMessage?: SystemMessage;
  readonly systemPrompt?: string;
  /** Options of the model's tools. */
  readonly modelSettings?: object;
  readonly state: { readonly messages: BaseMessage[] };
}

/** State update of a hook; beside messages, a structured response. */
interface StateUpdate {
  readonly messages: BaseMessage[];
  readonly structuredResponse?: Record<string, unknown>;
}

/**
 * Hooks of the middleware for one run of an agent. Reads the session at the first model call, after all other
 * middleware has changed the messages, so that one round trip stores and reads.
 */
export class AgentHooks {
  readonly #setting: RunSetting;
  readonly #policy: HookOptions & TurnPolicy;
  /** The state as the run begins, where it is not the one that it was given. */
  readonly #asked: AskedState | undefined;
  readonly #watch = new SkipWatch();
  readonly #stop = new StopListener(() => this.#keepWhatWasSaid());
  #run: Promise<AgentRun> | undefined;
  /** The config of the hook that was called last. */
  #config: ReturnType<typeof currentConfig> = currentConfig();
  #format: ResponseFormat = {};
  #state: readonly BaseMessage[] = [];
  /** The model's last or current output. */
  #said: () => BaseMessage | undefined = () => undefined;
  #isStopped = false;
  /** True while the session is closed to the run: nothing is to be stored, and the caller is told. */
  #isRefused = false;
  #isCalled = false;
  /** The write of a stopped run. */
  #stopping = Promise.resolve();

  constructor(setting: RunSetting, options: HookOptions, asked?: AskedState) {
    this.#setting = setting;
    this.#policy = { ...options, ...setting.policy };
    this.#asked = asked;
    options.turn?.endsBehind(() => this.#stopping);
  }

  /**
   * Before the agent. Another middleware may end the run before this one's next hook; noticing that delays nothing,
   * because other middleware may be slow here. `isFound` is false where the next hook opens a run of its own.
   */
  begin(given: readonly BaseMessage[], { isFound }: { readonly isFound: boolean }): StateUpdate | undefined {
    const state = this.#asked?.messages ?? given;
    const update = this.#asked?.update;
    if (isFound) {
      void this.#watch.arm(beforeFirstCall, () => this.#skipped(state));
    }
    return update && { messages: update };
  }

  /**
   * Before a model call, which another middleware may still skip: stores the steps that are finished. A question is
   * stored with its first model call, as other middleware has changed it.
   */
  async beforeCall(state: readonly BaseMessage[]): Promise<undefined> {
    this.#watch.disarm();
    if (this.#run !== undefined || this.#setting.parts.after.length > 0) {
      this.#config = currentConfig();
      await (this.#run === undefined ? undefined : this.#policy.turn?.enter(this.#config));
      await (await this.#open(state)).step(state);
    }
    this.#expect(state);
  }

  /**
   * Around a model call: stores finished steps, adds the history, and keeps partial output if the run is stopped.
   * Returns the stored answer, without a model call, if the turn has one.
   */
  async call<Request extends CallRequest, Response>(
    request: Request,
    handler: (request: Request) => Response | Promise<Response>,
  ): Promise<Response> {
    const { turn } = this.#policy;
    this.#watch.disarm();
    const config = currentConfig();
    try {
      this.#config = config;
      if (hasCheckpointer(config)) {
        hearQuestions(config);
      }
      await (this.#run === undefined ? undefined : turn?.enter(config));
      const response = await this.#call(request, handler);
      // The hook after the agent stores the answer.
      await (isAnswer(response) ? turn?.signOfLife() : turn?.toolsBegin(config));
      return response;
    } catch (error) {
      await turn?.release();
      throw error;
    }
  }

  async #call<Request extends CallRequest, Response>(
    request: Request,
    handler: (request: Request) => Response | Promise<Response>,
  ): Promise<Response> {
    const config = currentConfig();
    const { messages: state } = request.state;
    this.#format = request;
    if (this.#policy.onAbort === "keep") {
      this.#watchStop(state, config);
    }
    const run = await this.#open(state, { writes: this.#policy.persist === "step" });
    this.#policy.turn?.signOfLife({ isWorking: true });
    const replay = this.#isCalled ? undefined : run.replay();
    this.#isCalled = true;
    if (replay !== undefined) {
      await this.#policy.turn?.release();
      return (await this.#replay(run, { replay, request, config })) as Response;
    }
    await run.step(state);
    try {
      return await run.asking(() => this.#ask(run, { request, config }, handler));
    } catch (error) {
      // LangGraph aborts the signal of a stream whose run has failed: nobody stopped it.
      this.#stop.listen(undefined);
      await run.fail(error, state);
      throw error;
    }
  }

  /** Calls the model with the history in front of the turn. */
  async #ask<Request extends CallRequest, Response>(
    run: AgentRun,
    { request, config }: { readonly request: Request; readonly config: RunnableConfig },
    handler: (request: Request) => Response | Promise<Response>,
  ): Promise<Response> {
    const { messages: state } = request.state;
    const planned = await run.planOf({ model: request.model, tools: toolsOf(request), config });
    const ask = async (messages: BaseMessage[], inner?: RunnableConfig, model = request.model) =>
      callAgain((await this.#prepared({ ...request, messages, model }, planned)).sent, inner);
    const setting = { planned, config, call: partsOf(request), ask };
    const messages = await run.request(state, request.messages, setting);
    const { sent, bound } = await this.#prepared({ ...request, messages }, planned);
    // The run may have been stopped meanwhile: saves the model call.
    stopSignal(config)?.throwIfAborted();
    const answer = async () => handler(sent);
    const given = await (this.#policy.onAbort === "keep" ? this.#listening(config, answer) : answer());
    const stamp = bound?.stamp ?? ((message) => message);
    const response = changedResponse(given, (message) => run.answered(stamp(message), state));
    const message = messageOf(response);
    if (message === undefined) {
      return isStructured(response) ? (asAnswer(response) as Response) : response;
    }
    if (!mayCall(message)) {
      this.#expect(state);
    }
    return response;
  }

  /** The request as it is sent, and what its answer is to be marked with. */
  async #prepared<Request extends CallRequest>(request: Request, { plan, profile }: ModelPlan) {
    const plain = withOneSystemText(request, plan.criteria.profile);
    const marked = markedRequest(plain, { ...plan.criteria, isAdding: this.#policy.promptCacheMarks });
    const bound = await this.#thoughtsOf(marked, profile);
    return { sent: bound === undefined ? marked : { ...marked, messages: bound.messages }, bound };
  }

  #thoughtsOf(
    { messages, systemMessage, systemPrompt, tools }: CallRequest,
    profile: ModelProfile,
  ): Promise<BoundThoughts | undefined> {
    const { sessionId, context } = this.#setting.session;
    const request = { profile, messages, system: systemMessage ?? systemPrompt, tools };
    return boundThoughts(request, { sessionId, onEvent: context.onEvent });
  }

  /** Returns the stored answer as the model's, and streams it. */
  async #replay(
    run: AgentRun,
    { replay, request, config }: { replay: BaseMessage[]; request: CallRequest; config: RunnableConfig },
  ): Promise<BaseMessage> {
    const { storedAnswer = [] } = run;
    const structuredResponse = structuredAnswer(storedAnswer, request);
    // With a checkpointer the state may hold the answer already; its last message then replaces itself.
    const shown = replay.length > 0 ? replay : storedAnswer.slice(-1);
    await showAnswer({ messages: shown, isStructured: structuredResponse !== undefined }, config);
    const [only, ...more] = shown;
    if (only !== undefined && more.length === 0 && roleOf(only) === "ai" && structuredResponse === undefined) {
      return changeMessage(only, {});
    }
    // As a structured response: the only form that takes several messages. Langchain shows the whole state with it.
    return asAnswer({ messages: replay, structuredResponse });
  }

  /**
   * After the agent: stores the rest. Returns the messages missing in the state if another run stored this turn first.
   */
  async end(state: readonly BaseMessage[]): Promise<StateUpdate | undefined> {
    this.#watch.disarm();
    this.#stop.listen(undefined);
    const { turn } = this.#policy;
    try {
      this.#config = currentConfig();
      const run = await this.#open(state);
      await (run.isClosed ? undefined : turn?.enter(this.#config));
      const storing = run.finish(state, turn);
      // The caller of a stopped run is gone, so `drain` waits for its write.
      this.#setting.session.inBackground(storing.catch(() => undefined));
      await storing;
      const messages = run.correction(state);
      if (messages === undefined) {
        return undefined;
      }
      const structuredResponse = structuredAnswer(run.storedAnswer ?? [], this.#format);
      return { messages, ...(structuredResponse !== undefined && { structuredResponse }) };
    } finally {
      await turn?.release();
    }
  }

  /** Opens the run once, retrying after a failure; with `writes` the read also stores the question. */
  #open(state: readonly BaseMessage[], { writes = false }: { readonly writes?: boolean } = {}): Promise<AgentRun> {
    if (this.#run === undefined) {
      const { turn } = this.#policy;
      const open = () => AgentRun.open(this.#setting, { state, writes });
      const run = turn === undefined ? open() : turn.opens(this.#config, open);
      this.#run = run;
      run.catch((error: unknown) => {
        this.#run = undefined;
        this.#isRefused = ConflictError.isInstance(error) || (MemoryError.isInstance(error) && !error.retryable);
      });
    }
    return this.#run;
  }

  #expect(state: readonly BaseMessage[]): void {
    this.#setting.session.inBackground(this.#watch.arm(betweenHooks, () => this.#skipped(state)));
  }

  async #skipped(state: readonly BaseMessage[]): Promise<void> {
    await this.#reporting(state, (run) => run.skip(state));
    await this.#policy.turn?.release();
  }

  #watchStop(state: readonly BaseMessage[], config: ReturnType<typeof currentConfig>): void {
    this.#state = state;
    this.#stop.listen(stopSignal(config));
  }

  #listening<Response>(config: ReturnType<typeof currentConfig>, answer: () => Promise<Response>): Promise<Response> {
    return SaidSoFar.during(config, async (said) => {
      this.#said = () => said.last;
      const response = await answer();
      this.#said = () => messageOf(response);
      return response;
    });
  }

  #keepWhatWasSaid(): void {
    if (!this.#isStopped && !this.#isRefused) {
      this.#isStopped = true;
      this.#watch.disarm();
      const said = this.#said();
      this.#stopping = this.#reporting(this.#state, (run) => run.stop(this.#state, said));
      this.#setting.session.inBackground(this.#stopping);
    }
  }

  /** Runs background work and reports its failure. */
  async #reporting(state: readonly BaseMessage[], work: (run: AgentRun) => Promise<void> | void): Promise<void> {
    try {
      await work(await this.#open(state));
    } catch (error) {
      const { session, place, parts } = this.#setting;
      const { sessionId, context } = session;
      const turnId = turnIdOf(place, parts);
      report(context.onEvent, { type: "turn_not_stored", sessionId, turnId, reason: "failed", error });
    }
  }
}

/** True for an answer without tool calls: the run's last hooks should follow at once. */
function isAnswer(response: unknown): boolean {
  const message = messageOf(response);
  return message !== undefined && !mayCall(message);
}

/** A model that takes tools. */
interface BindableModel {
  bindTools(tools: readonly unknown[], settings?: object): Runnable<BaseMessage[], BaseMessage>;
}

/** Calls the model of a request as langchain does, but forces neither a tool nor a form of the answer. */
function callAgain(
  { model, systemMessage, systemPrompt = "", messages, tools = [], modelSettings }: CallRequest,
  config: RunnableConfig | undefined,
): Promise<BaseMessage> {
  const system = systemMessage ?? new SystemMessage(systemPrompt);
  const called = (model as BindableModel).bindTools(tools, modelSettings);
  return called.invoke(system.text === "" ? messages : [system, ...messages], config);
}

/** The parts of a request beside its messages. */
function partsOf({ model, systemMessage, systemPrompt, tools }: CallRequest) {
  return { model, system: systemMessage ?? systemPrompt, tools };
}

/** The tools of a request; undefined where a structured response may still add its own. */
function toolsOf({ tools = [], responseFormat }: ResponseFormat): readonly unknown[] | undefined {
  return tools.length === 0 && responseFormat !== undefined ? undefined : tools;
}

function messageOf(response: unknown): AIMessage | undefined {
  const isMessage = (response as Partial<AIMessage> | undefined)?.getType?.() === "ai";
  return isMessage ? (response as AIMessage) : undefined;
}

/** The model's response with changed answers. */
function changedResponse<Response>(response: Response, change: <M extends BaseMessage>(answer: M) => M): Response {
  const message = messageOf(response);
  if (message !== undefined) {
    return change(message) as Response;
  }
  return isStructured(response) ? { ...response, messages: response.messages.map((each) => change(each)) } : response;
}

/** Milliseconds; longer than other middleware takes between two hooks, unless it calls a model. */
const betweenHooks = 1_000;
/** Milliseconds; longer than other middleware usually takes between a run's first hook and its first model call. */
const beforeFirstCall = 10_000;

/**
 * Watchdog for runs that another middleware ended by a jump past all later hooks: the expected hook does not follow.
 * Its timer does not keep the process alive.
 */
class SkipWatch {
  #stop: (() => void) | undefined;

  /** Calls `onSkip` unless `disarm` is called in time. Resolves when one of both has happened. */
  arm(patienceMs: number, onSkip: () => Promise<void>): Promise<void> {
    this.disarm();
    return new Promise((resolve) => {
      const timer = setTimeout(() => void onSkip().finally(resolve), patienceMs);
      timer.unref();
      this.#stop = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** The expected hook was called. */
  disarm(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

/** The marked part of a model call's request; before langchain 1.1 without `systemMessage`. */
type MarkedFields = Pick<CallRequest, "messages" | "systemMessage">;

/**
 * The request with the system text of the conversation in its own, where the provider takes one. ChatAnthropic sends
 * several as blocks, so that the first one stays in the provider's cache.
 */
function withOneSystemText<Request extends MarkedFields>(
  request: Request,
  { rules, adapter }: StructureProfile,
): Request {
  const { messages, systemMessage } = request;
  const [first, ...rest] = messages;
  const isApart = first !== undefined && roleOf(first) === "system" && (systemMessage?.text ?? "") !== "";
  return isApart && rules.S04 === "error" && adapter !== "anthropic"
    ? { ...request, messages: rest, systemMessage: mergeMessages([systemMessage!, first]) }
    : request;
}

/** The request with no more marks for a prompt cache than it may have, system message included; some may be added. */
function markedRequest<Request extends CallRequest>(
  request: Request,
  { profile, isAdding }: Pick<StructureCriteria, "profile"> & { readonly isAdding: boolean },
): Request {
  const { messages, systemMessage, modelSettings } = request;
  const front = frontMarks(toolsOf(request) ?? [], modelSettings);
  const all = [...(systemMessage === undefined ? [] : [systemMessage]), ...messages];
  const marked = isAdding ? withCacheMarks(all, { profile, front }) : withinMarks(all, front);
  if (marked === all) {
    return request;
  }
  const [system, ...rest] = systemMessage === undefined ? [undefined, ...marked] : marked;
  return { ...request, messages: rest, ...(system !== undefined && { systemMessage: system }) };
}

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { mayCall } from "../../messages/calls.js";
import type { AgentRun } from "./agent-run.js";
import type { TurnLease } from "../../turns/turn-lease.js";
import { PartialAnswer, stopSignal } from "./partial-answer.js";
import { currentConfig } from "./run-place.js";
import { SkipWatch } from "./skip-watch.js";

/** When a run's messages are stored, and what is kept of one that is stopped. */
export interface StorePolicy {
  readonly persist: "turn" | "step";
  readonly onAbort: "discard" | "keep";
  /** Kept during model calls only: from tools and interrupts a run may not come back. */
  readonly lease: TurnLease | undefined;
}

/** The request of a model call, as far as it matters here. */
interface CallRequest {
  readonly messages: BaseMessage[];
  readonly state: { readonly messages: BaseMessage[] };
}

/** What the hooks of a middleware do in one run of an agent. */
export class AgentHooks {
  readonly #run: AgentRun;
  readonly #policy: StorePolicy;
  readonly #watch = new SkipWatch();
  readonly #onStop = () => this.#keepWhatWasSaid();
  #signal: AbortSignal | undefined;
  #state: readonly BaseMessage[] = [];
  /** What the model said last, or is saying. */
  #said: () => BaseMessage | undefined = () => undefined;
  #isStopped = false;

  constructor(run: AgentRun, policy: StorePolicy) {
    this.#run = run;
    this.#policy = policy;
  }

  /** Before the agent: gives it what is stored of its turn, and ends it where that is all. */
  async begin(): Promise<{ messages: BaseMessage[]; jumpTo?: "end" } | undefined> {
    const { isDone, missing } = this.#run.begin();
    if (isDone) {
      await this.#policy.lease?.release();
      return { messages: missing, jumpTo: "end" };
    }
    return missing.length > 0 ? { messages: missing } : undefined;
  }

  /** Before a model call, which another middleware may still skip. */
  expectCall(state: readonly BaseMessage[]): undefined {
    this.#expect(() => this.#run.skipped(state, { steps: this.#policy.persist === "step" }));
  }

  /** Around a model call: stores the steps so far, adds the history, and keeps what was said if the run is stopped. */
  async call<Request extends CallRequest, Response>(
    request: Request,
    handler: (request: Request) => Response | Promise<Response>,
  ): Promise<Response> {
    const { lease } = this.#policy;
    lease?.keep(true);
    try {
      return await this.#call(request, handler);
    } catch (error) {
      await lease?.release();
      throw error;
    } finally {
      lease?.keep(false);
    }
  }

  async #call<Request extends CallRequest, Response>(
    request: Request,
    handler: (request: Request) => Response | Promise<Response>,
  ): Promise<Response> {
    this.#watch.disarm();
    const config = currentConfig();
    const { messages: state } = request.state;
    if (this.#policy.persist === "step") {
      await this.#run.store(state, { done: false });
    }
    const messages = await this.#run.request(state, request.messages, config);
    const answer = async () => handler({ ...request, messages });
    const response = await (this.#policy.onAbort === "keep" ? this.#stoppable(state, answer) : answer());
    if (isAnswer(response)) {
      this.#expect(() => this.#run.skipped(state, { steps: false }));
    }
    return response;
  }

  /** After the agent: stores the rest. Returns what the state lacks where another run stored this turn first. */
  async end(state: readonly BaseMessage[]): Promise<{ messages: BaseMessage[] } | undefined> {
    this.#watch.disarm();
    this.#signal?.removeEventListener("abort", this.#onStop);
    try {
      await this.#run.store(state, { done: true });
    } finally {
      await this.#policy.lease?.release();
    }
    const answer = this.#run.storedAnswer(state);
    return answer && { messages: answer };
  }

  #expect(onSkip: () => Promise<void>): void {
    const skip = () => onSkip().finally(() => this.#policy.lease?.release());
    this.#run.inBackground(this.#watch.arm(skip));
  }

  async #stoppable<Response>(state: readonly BaseMessage[], answer: () => Promise<Response>): Promise<Response> {
    const config = currentConfig();
    this.#state = state;
    const signal = stopSignal(config);
    if (signal !== this.#signal) {
      this.#signal?.removeEventListener("abort", this.#onStop);
      this.#signal = signal;
      signal?.addEventListener("abort", this.#onStop, { once: true });
    }
    return PartialAnswer.during(config, async (partial) => {
      this.#said = () => partial.message;
      const response = await answer();
      this.#said = () => messageOf(response);
      return response;
    });
  }

  #keepWhatWasSaid(): void {
    if (!this.#isStopped) {
      this.#isStopped = true;
      this.#watch.disarm();
      this.#run.inBackground(this.#run.storeStopped(this.#state, this.#said()));
    }
  }
}

/** True for an answer that calls no tool: the run's last hooks should follow at once. */
function isAnswer(response: unknown): boolean {
  const message = messageOf(response);
  return message !== undefined && !mayCall(message);
}

function messageOf(response: unknown): AIMessage | undefined {
  const isMessage = (response as Partial<AIMessage> | undefined)?.getType?.() === "ai";
  return isMessage ? (response as AIMessage) : undefined;
}

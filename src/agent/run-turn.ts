import type { RunnableConfig } from "@langchain/core/runnables";
import type { ConversationSession } from "../session/conversation-session.js";
import type { HeldTurn } from "../session/hold/held-session.js";
import { takeDoorTurn } from "../session/hold/take-hold.js";
import type { HoldPolicy } from "../turns/turn-defaults.js";
import { onEndInCheckpoint } from "./checkpoint-writes.js";
import { EndWatch, type StepConfig } from "./end-watch.js";
import { currentConfig, isPartOf } from "./run-place.js";
import { StopListener, stopSignal } from "../turns/stop.js";

/** A run that calls no model, and of which no hook was called for so long, holds its session no longer. */
const longestMs = 5 * 60_000;

/**
 * The session's turn as a run of an agent holds it: from its first hook to its end, tools included. Given back where
 * the run ends, fails, is stopped or interrupted; taken again by a run that goes on.
 */
export class RunTurn {
  readonly #session: ConversationSession;
  readonly #options: { readonly owner: string } & HoldPolicy;
  readonly #endWatch = new EndWatch();
  readonly #stop = new StopListener(() => void this.release());
  #held: HeldTurn | undefined;
  /** Ends that the checkpoint is observed; undefined where it is not. */
  #unobserve: (() => void) | undefined;
  /** The last step that the run may take; undefined for a run that was resumed. */
  #lastStep: number | undefined;
  /** What has to be stored before the turn is given back. */
  #lastWrite: () => Promise<void> = () => Promise.resolve();

  constructor(session: ConversationSession, options: { readonly owner: string } & HoldPolicy) {
    this.#session = session;
    this.#options = options;
  }

  /** The run begins here: its steps are counted from the one of its first hook on. */
  begins(config: RunnableConfig): void {
    const [first, limit] = [stepOf(config), config.recursionLimit];
    this.#lastStep = first === undefined || limit === undefined ? undefined : first - 1 + limit;
  }

  /** A model is called: the run lives for as long as that takes. */
  async callsModel(config: RunnableConfig): Promise<void> {
    await this.enter(config);
    this.#held?.signOfLife({ isWorking: true });
  }

  /** Takes the turn, unless the run holds it: one that was thought to be over may have lost it. */
  async enter(config: RunnableConfig): Promise<void> {
    this.#endWatch.disarm();
    const signal = stopSignal(config);
    if (this.#held === undefined) {
      const isCaller = () => isPartOf(currentConfig(), config);
      this.#held = await takeDoorTurn(this.#session, { ...this.#options, longestMs, signal, isCaller });
      if (signal?.aborted) {
        // Who was stopped meanwhile would hold the turn for nobody.
        await this.release();
        signal.throwIfAborted();
      }
      this.#unobserve = this.#held && onEndInCheckpoint(config, () => this.release());
    }
    this.#held?.signOfLife();
    this.#stop.listen(signal);
  }

  /** Names what `release` waits for. */
  endsBehind(lastWrite: () => Promise<void>): void {
    this.#lastWrite = lastWrite;
  }

  /** The model has answered: the hook at the end should follow. */
  answered(): void {
    this.#held?.signOfLife();
  }

  /**
   * A model call has asked for tools: from here on no hook tells of an interrupt or a failure. Where no step is left for
   * a hook behind the tools, the run can neither store nor ask any more, and gives the turn back.
   */
  async toolsBegin(config: StepConfig): Promise<void> {
    const step = stepOf(config);
    if (step !== undefined && this.#lastStep !== undefined && step + 2 > this.#lastStep) {
      return this.release();
    }
    this.#held?.signOfLife();
    if (this.#unobserve === undefined) {
      this.#endWatch.arm(config, () => void this.release());
    }
  }

  /** Lets the next turn of the session begin. Never rejects. */
  async release(): Promise<void> {
    this.#endWatch.disarm();
    this.#unobserve?.();
    this.#unobserve = undefined;
    this.#stop.listen(undefined);
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) {
      // Later by a moment: what a stopped run had said is written by another listener of the same signal.
      const work = Promise.resolve()
        .then(() => this.#lastWrite())
        .then(() => held.release());
      this.#session.inBackground(work);
      await work;
    }
  }
}

/** The number of the step in which a hook is called, as LangGraph counts it. */
function stepOf({ metadata }: Pick<StepConfig, "metadata">): number | undefined {
  const step: unknown = metadata?.["langgraph_step"];
  return typeof step === "number" ? step : undefined;
}

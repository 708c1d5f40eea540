import { getEventListeners } from "node:events";
import { isStopListener } from "../turns/stop.js";
import { callSignal, namespaceOf, type AgentRuntime } from "./run-place.js";

/** When a checkpoint is read after a model call, in milliseconds since the read before; the last one repeats. */
const readPausesMs = [200, 800, 2_000, 5_000];
/** When the signal of a run is looked at, which costs nothing. */
const signalPausesMs = [50];
/** How often in a row nothing may listen to a signal: between two steps, nothing does for a moment. */
const silentLooks = 2;

/** How to see whether a run has ended, and after which pauses. */
interface Look {
  readonly pausesMs: readonly number[];
  readonly hasEnded: () => boolean | Promise<boolean>;
}

interface Checkpoint {
  readonly metadata?: { readonly step?: number };
  readonly parentConfig?: object;
  readonly pendingWrites?: readonly (readonly [task: string, channel: string, value: unknown])[];
}

interface Checkpointer {
  getTuple(config: object): Promise<Checkpoint | undefined>;
}

/** A step of a run, as LangGraph describes it to the hook of a model call. */
export type StepConfig = AgentRuntime & { readonly metadata?: Readonly<Record<string, unknown>> };

/**
 * Notices that a run ended while its tools were to run: it was interrupted, or failed. No hook is called then, and the
 * run may never come back. The signal of the run tells it, to which LangGraph listens in each step; with an older
 * LangGraph, which gives runs none, the checkpoint tells of interrupts. For runs whose writes are not observed
 * (`onEndInCheckpoint`). Does not keep the process alive.
 */
export class EndWatch {
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `onEnd` once the run has ended, unless `disarm` is called first. */
  arm(config: StepConfig, onEnd: () => void): void {
    this.disarm();
    const look = lookAtSignal(config) ?? lookAtCheckpoint(config);
    if (look !== undefined) {
      this.#wait(0, look, onEnd);
    }
  }

  /** The run goes on. */
  disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(count: number, look: Look, onEnd: () => void): void {
    const decide = (hasEnded: boolean) => {
      if (this.#timer === timer && hasEnded) {
        this.disarm();
        onEnd();
      } else if (this.#timer === timer) {
        this.#wait(count + 1, look, onEnd);
      }
    };
    // A checkpointer that fails says nothing.
    const ask = async () => decide(await Promise.resolve(look.hasEnded()).catch(() => false));
    const { pausesMs } = look;
    const timer = setTimeout(() => void ask(), pausesMs[Math.min(count, pausesMs.length - 1)]);
    timer.unref();
    this.#timer = timer;
  }
}

/** By the signal that LangGraph makes for each run; undefined for an older one. */
function lookAtSignal(config: StepConfig): Look | undefined {
  const signal = callSignal(config);
  if (signal === undefined) {
    return undefined;
  }
  let silent = 0;
  const hasEnded = () => {
    const isHeard = getEventListeners(signal, "abort").some((listener) => !isStopListener(listener));
    silent = isHeard ? 0 : silent + 1;
    return silent >= silentLooks;
  };
  return { pausesMs: signalPausesMs, hasEnded };
}

/** By the checkpoints behind a step, which tell of an interrupt; undefined for a run without a checkpointer. */
function lookAtCheckpoint(config: StepConfig): Look | undefined {
  const { configurable = {}, metadata = {} } = config;
  const checkpointer = configurable["__pregel_checkpointer"] as Partial<Checkpointer> | undefined;
  if (typeof checkpointer?.getTuple !== "function") {
    return undefined;
  }
  const step = Number(metadata["langgraph_step"] ?? 0);
  const place = { configurable: { thread_id: configurable["thread_id"], checkpoint_ns: namespaceOf(config) } };
  const hasEnded = async () => {
    let at: object | undefined = place;
    while (at !== undefined) {
      const checkpoint: Checkpoint | undefined = await checkpointer.getTuple!(at);
      // An older checkpoint may hold an interrupt that was answered.
      if (checkpoint === undefined || Number(checkpoint.metadata?.step ?? -1) < step) {
        return false;
      }
      if (checkpoint.pendingWrites?.some(([, channel]) => channel === "__interrupt__")) {
        return true;
      }
      // A run that was begun since has written checkpoints of its own.
      at = checkpoint.parentConfig;
    }
    return false;
  };
  return { pausesMs: readPausesMs, hasEnded };
}

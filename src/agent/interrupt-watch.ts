import type { AgentRuntime } from "./run-place.js";
import { namespaceOf } from "./run-place.js";

/** When a run is looked at after a model call, in milliseconds since the look before; the last one repeats. */
const pausesMs = [200, 800, 2_000, 5_000];

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
 * Notices that a run was interrupted while its tools were to run: no hook is called then, and the run may never come
 * back. The checkpoint tells it; without a checkpointer there are no interrupts. For runs whose writes are not observed
 * (`onEndInCheckpoint`). Does not keep the process alive.
 */
export class InterruptWatch {
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `onInterrupt` once the run is interrupted, unless `disarm` is called first. */
  arm(config: StepConfig, onInterrupt: () => void): void {
    this.disarm();
    const look = lookAt(config);
    if (look !== undefined) {
      this.#wait(0, look, onInterrupt);
    }
  }

  /** The run goes on. */
  disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(count: number, look: () => Promise<boolean>, onInterrupt: () => void): void {
    const decide = (isInterrupted: boolean) => {
      if (this.#timer === timer && isInterrupted) {
        this.disarm();
        onInterrupt();
      } else if (this.#timer === timer) {
        this.#wait(count + 1, look, onInterrupt);
      }
    };
    // A checkpointer that fails says nothing.
    const ask = () => void look().then(decide, () => decide(false));
    const timer = setTimeout(ask, pausesMs[Math.min(count, pausesMs.length - 1)]);
    timer.unref();
    this.#timer = timer;
  }
}

/** How to see whether a run is interrupted behind a step; undefined for one without a checkpointer. */
function lookAt(config: StepConfig): (() => Promise<boolean>) | undefined {
  const { configurable = {}, metadata = {} } = config;
  const checkpointer = configurable["__pregel_checkpointer"] as Partial<Checkpointer> | undefined;
  if (typeof checkpointer?.getTuple !== "function") {
    return undefined;
  }
  const step = Number(metadata["langgraph_step"] ?? 0);
  const place = { configurable: { thread_id: configurable["thread_id"], checkpoint_ns: namespaceOf(config) } };
  return async () => {
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
}

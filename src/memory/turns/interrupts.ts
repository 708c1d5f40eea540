import { AsyncLocalStorage } from "node:async_hooks";

// A graph that waits for a human writes an interrupt into its checkpoint in each mode of its stream; some show it, too.

type Writes = readonly (readonly [channel: string, value: unknown])[];

/** LangGraph's channel of interrupts. */
export const interruptChannel = "__interrupt__";

const observing = new AsyncLocalStorage<PendingInterrupts>();

/** A checkpoint of a graph's thread; ids of later ones are greater. */
interface CheckpointPlace {
  readonly thread: string;
  readonly checkpoint: string;
}

/** The interrupts of graphs in a piece of work that nobody has answered yet. */
export class PendingInterrupts {
  /** The place of each task that waits. */
  readonly #waiting = new Map<string, CheckpointPlace>();
  #isObserved = false;

  /** True once a checkpointer reported an interrupt: it reports the answers, too. */
  get isObserved(): boolean {
    return this.#isObserved;
  }

  get threads(): string[] {
    return [...new Set([...this.#waiting.values()].map(({ thread }) => thread))];
  }

  /** A task wrote this: an interrupt, or, once that was answered, what it returns. */
  wrote(writes: Writes, place: CheckpointPlace, task: string): void {
    if (writes.some(([channel]) => channel === interruptChannel)) {
      this.#isObserved = true;
      this.#waiting.set(task, place);
    } else if (writes.some(([channel]) => channel !== "__resume__")) {
      this.#waiting.delete(task);
    }
  }

  /** A thread has a checkpoint of its root graph: behind that of an interrupt, it goes on. */
  moved({ thread, checkpoint }: CheckpointPlace): void {
    for (const [task, place] of this.#waiting) {
      if (place.thread === thread && place.checkpoint < checkpoint) {
        this.#waiting.delete(task);
      }
    }
  }
}

/** Runs work, and notes the interrupts of graphs in it. */
export function observingInterrupts<Result>(pending: PendingInterrupts, work: () => Result): Result {
  return observing.run(pending, work);
}

/** The interrupts noted for the work that runs here; undefined where nobody asks for them. */
export function observedInterrupts(): PendingInterrupts | undefined {
  return observing.getStore();
}

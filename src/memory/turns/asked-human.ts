import { AsyncLocalStorage } from "node:async_hooks";

// A graph that waits for a human says so in its checkpoint, in every mode of its stream; in its stream only in some.

type Writes = readonly (readonly [channel: string, value: unknown])[];

/** LangGraph's channel of interrupts. */
export const interrupts = "__interrupt__";

const listening = new AsyncLocalStorage<OpenQuestions>();

/** A checkpoint of a graph's thread; ids of later ones are greater. */
interface AskedPlace {
  readonly thread: string;
  readonly checkpoint: string;
}

/** The questions that graphs in a piece of work asked a human, and that nobody has answered yet. */
export class OpenQuestions {
  /** The place of each task that asks. */
  readonly #asking = new Map<string, AskedPlace>();
  #isTold = false;

  /** True once a checkpointer told anything: it tells of questions and of answers. */
  get isTold(): boolean {
    return this.#isTold;
  }

  /** The threads that wait. */
  get threads(): string[] {
    return [...new Set([...this.#asking.values()].map(({ thread }) => thread))];
  }

  /** A task wrote this: a question, or, once it was answered, what it returns. */
  wrote(writes: Writes, place: AskedPlace, task: string): void {
    if (writes.some(([channel]) => channel === interrupts)) {
      this.#isTold = true;
      this.#asking.set(task, place);
    } else if (writes.some(([channel]) => channel !== "__resume__")) {
      this.#asking.delete(task);
    }
  }

  /** A thread has a checkpoint of its root graph: behind that of a question, it goes on. */
  moved({ thread, checkpoint }: AskedPlace): void {
    for (const [task, asked] of this.#asking) {
      if (asked.thread === thread && asked.checkpoint < checkpoint) {
        this.#asking.delete(task);
      }
    }
  }
}

/** Runs work, and notes the questions of graphs in it. */
export function observingInterrupts<Result>(questions: OpenQuestions, work: () => Result): Result {
  return listening.run(questions, work);
}

/** Who hears of questions here. */
export function observedInterrupts(): OpenQuestions | undefined {
  return listening.getStore();
}

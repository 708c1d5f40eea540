import { ChunkReader } from "./chunk-text.js";

/** How a run ended; `waiting`: it waits for a human; `lost`: its process died. */
export type RunEndState = "waiting" | "done" | "stopped" | "failed" | "lost";

/** The end of a run. */
export interface RunEnd {
  /** How the run ended. */
  readonly state: RunEndState;
  /** The code of the error of a run that `failed`: a MemoryError's, else the error's name. */
  readonly error?: string;
}

/** The place of a chunk in its run: the number of its batch, from 1, and its index in it. */
export interface ChunkPlace {
  readonly batch: number;
  readonly index: number;
}

/** The place before the first chunk of a run. */
export const runStart: ChunkPlace = { batch: 0, index: 0 };

/** A position in a session: the time of a run, and a place in it. */
export interface RunPosition {
  readonly at: string;
  readonly place: ChunkPlace;
}

/** The position of an item's id, `<time of the run>-<batch>:<index>`; undefined for another text. */
export function positionIn(id: string): RunPosition | undefined {
  const [, at, batch, index] = /^(\d{1,16})-(\d{1,15}):(\d{1,9})$/.exec(id) ?? [];
  return at === undefined ? undefined : { at, place: { batch: Number(batch), index: Number(index) } };
}

/**
 * A run as this process knows it, for all of its readers here: batches of chunks without a gap from the first one on,
 * and the end. In the process that produces the run the last batch is open: chunks are read before they are stored.
 *
 * It takes chunks as text, also there: each reader gets the value of the moment at which it was yielded, the same in
 * every process, and an own copy.
 */
export class RunLog {
  readonly #chunks = new ChunkReader();
  readonly #batches: unknown[][] = [];
  readonly #waiting = new Set<() => void>();
  #isOpen = false;
  #isCut = false;
  #isAbandoned = false;
  #end: RunEnd | undefined;

  constructor(
    /** The time of the run, the first half of its ids. */
    readonly at: string,
  ) {}

  /** The number of the next whole batch. */
  get next(): number {
    return this.#batches.length + 1;
  }

  /** True where chunks behind those that are here are missing for good. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** True where this process reads no more, so that a reader has to go on elsewhere. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  get end(): RunEnd | undefined {
    return this.#end;
  }

  idOf({ batch, index }: ChunkPlace): string {
    return `${this.at}-${batch}:${index}`;
  }

  /** Adds the text of a chunk to the open batch. */
  push(text: string): void {
    const [chunk] = this.#chunks.take(`[${text}]`);
    if (this.#isOpen) {
      this.#batches.at(-1)!.push(chunk);
    } else {
      this.#batches.push([chunk]);
      this.#isOpen = true;
    }
    this.#changed();
  }

  /** Closes the open batch, which is to be stored, and returns its number. */
  close(): number {
    this.#isOpen = false;
    return this.#batches.length;
  }

  /** Adds the text of a whole batch. @throws RecordError `corrupt` */
  add(text: string): void {
    this.#batches.push(this.#chunks.take(text));
    this.#changed();
  }

  /** Notes that the next chunks are missing for good. */
  cut(): void {
    this.#isCut = true;
    this.#changed();
  }

  /** Notes that this process reads no more. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#changed();
  }

  /** Notes the end; the first one counts. */
  finish(end: RunEnd): void {
    this.#end ??= end;
    this.#changed();
  }

  /** The chunk behind a place, and its own; undefined where it is not here yet. */
  behind({ batch, index }: ChunkPlace): { readonly place: ChunkPlace; readonly chunk: unknown } | undefined {
    const inBatch = this.#batches[batch - 1];
    if (inBatch !== undefined && index + 1 < inBatch.length) {
      return { place: { batch, index: index + 1 }, chunk: this.#chunks.value(inBatch[index + 1]) };
    }
    const isWhole = batch < this.#batches.length;
    const next = isWhole ? this.#batches[batch] : undefined;
    return next && { place: { batch: batch + 1, index: 0 }, chunk: this.#chunks.value(next[0]) };
  }

  /** True for a place behind which chunks follow or may follow: one that this run has given out. */
  hasGiven({ batch, index }: ChunkPlace): boolean {
    return batch === 0 || index < (this.#batches[batch - 1]?.length ?? 0);
  }

  /** Resolves with the next change, or when the signal aborts. */
  changed(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  #changed(): void {
    [...this.#waiting].forEach((wake) => wake());
  }
}

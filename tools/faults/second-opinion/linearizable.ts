/** An operation that took effect at one moment between `asked` and `told`. */
export interface Operation<Kind> {
  readonly asked: number;
  /** Infinity where it may take effect at any later time. */
  readonly told: number;
  /** True where it may have had no effect at all: no answer came, or an error. */
  readonly maybe: boolean;
  /** Those of lower rank are tried first; a good guess makes the search short. */
  readonly rank: number;
  readonly does: Kind;
}

/** Takes an effect back. */
export type Undo = () => void;

/** The model that the operations change. */
export interface Model<Kind> {
  /**
   * Does it. Returns how to take it back, "same" where it fits and changes nothing, and undefined where it could not
   * have been answered so in this state.
   */
  apply(does: Kind): Undo | "same" | undefined;
  /** True for an operation that changes nothing in any state. */
  isRead(does: Kind): boolean;
  /** Equal for equal states. */
  fingerprint(): string;
}

/** `undecided` where the budget ended first. `at` is the operation that fitted nowhere, in the furthest attempt. */
export type Linearization<Kind> =
  | { readonly verdict: "linearizable" }
  | { readonly verdict: "undecided" }
  | { readonly verdict: "not linearizable"; readonly at: Operation<Kind> };

interface Frame {
  readonly choices: readonly number[];
  next: number;
  readonly undo: Undo | undefined;
  readonly chosen: number;
  readonly latest: number;
}

/**
 * Looks for an order of the operations in which each took effect between its question and its answer, and which the
 * model allows: Wing and Gong, "Testing and Verifying Concurrent Objects" (J. Parallel and Distributed Computing,
 * 1993), with Lowe's memory of the states seen ("Testing for Linearizability", 2017), as Porcupine (Athalye, 2017)
 * does it. A read that fits is taken at once where it ends the time of no other, since it would fit nowhere better; a
 * write that changes nothing here may be needed later. `budget` bounds the steps. A set of operations is known by a
 * sum of random numbers: two of them look equal once in 2^60.
 */
export function linearize<Kind>(
  unsorted: readonly Operation<Kind>[],
  model: Model<Kind>,
  { budget = 200_000 }: { readonly budget?: number } = {},
): Linearization<Kind> {
  return new Search(unsorted, model).run(budget);
}

class Search<Kind> {
  readonly #all: readonly Operation<Kind>[];
  readonly #model: Model<Kind>;
  readonly #marks: readonly (readonly [number, number])[];
  readonly #seen = new Set<string>();
  readonly #sum: [number, number] = [0, 0];
  /** Operations that are not done, a list in the order of the questions; its ends are at the number of operations. */
  readonly #next: number[];
  readonly #previous: number[];
  /** The newest question among those that are done: what was told before it cannot be done any more. */
  #latest = -Infinity;
  #left: number;
  #fewest = Infinity;
  #stuck: Operation<Kind> | undefined;

  constructor(unsorted: readonly Operation<Kind>[], model: Model<Kind>) {
    this.#all = [...unsorted].sort((a, b) => a.asked - b.asked);
    this.#model = model;
    this.#marks = this.#all.map((_, number) => [mixed(number * 2 + 1), mixed(number * 2 + 2)]);
    const { length } = this.#all;
    this.#next = Array.from({ length: length + 1 }, (_, at) => (at === length ? 0 : at + 1));
    this.#previous = Array.from({ length: length + 1 }, (_, at) => (at === 0 ? length : at - 1));
    this.#left = this.#all.filter(({ maybe }) => !maybe).length;
  }

  run(budget: number): Linearization<Kind> {
    const frames: Frame[] = [this.#frame(undefined, -1)];
    for (let steps = 0; this.#left > 0; steps += 1) {
      const frame = frames.at(-1);
      if (frame === undefined) {
        return { verdict: "not linearizable", at: this.#stuck! };
      }
      if (steps > budget + this.#all.length) {
        return { verdict: "undecided" };
      }
      const choice = frame.choices[frame.next];
      frame.next += 1;
      if (choice === undefined) {
        frames.pop();
        this.#back(frame);
        continue;
      }
      const effect = this.#model.apply(this.#all[choice]!.does);
      if (effect === "same" && this.#all[choice]!.maybe) {
        continue;
      }
      if (effect !== undefined) {
        const undo = effect === "same" ? undefined : effect;
        this.#mark(choice, true);
        if (!this.#seen.has(this.#key())) {
          this.#seen.add(this.#key());
          frames.push(this.#frame(undo, choice));
        } else {
          this.#mark(choice, false);
          undo?.();
        }
      }
    }
    return { verdict: "linearizable" };
  }

  /** The choices for the next step: operations that were asked for before any answer that is still owed. */
  #frame(undo: Undo | undefined, chosen: number): Frame {
    const latest = this.#latest;
    this.#latest = Math.max(latest, this.#all[chosen]?.asked ?? -Infinity);
    const must: number[] = [];
    const may: number[] = [];
    let owed = Infinity;
    const end = this.#all.length;
    for (let at = this.#next[end]!; at !== end && this.#all[at]!.asked <= owed; at = this.#next[at]!) {
      const { maybe, told } = this.#all[at]!;
      const isOver = maybe && told < this.#latest;
      (maybe ? may : must).push(...(isOver ? [] : [at]));
      owed = maybe ? owed : Math.min(owed, told);
    }
    this.#noteStuck(must);
    // An uncertain operation that was told before this one was asked for has not happened then: that is a choice.
    const ends = may.reduce((first, number) => Math.min(first, this.#all[number]!.told), Infinity);
    const still = this.#stillOf(must.filter((number) => this.#all[number]!.asked <= ends));
    const choices = still === undefined ? [...must, ...may].sort((a, b) => this.#compare(a, b)) : [still];
    return { choices, next: 0, undo, chosen, latest };
  }

  #compare(left: number, right: number): number {
    const [a, b] = [this.#all[left]!, this.#all[right]!];
    return a.rank - b.rank || Number(a.maybe) - Number(b.maybe) || a.told - b.told || left - right;
  }

  /** A read that fits now: then there is nothing to choose. */
  #stillOf(must: readonly number[]): number | undefined {
    return must.find((number) => {
      const { does } = this.#all[number]!;
      return this.#model.isRead(does) && this.#model.apply(does) === "same";
    });
  }

  #noteStuck(must: readonly number[]): void {
    if (this.#left < this.#fewest) {
      this.#fewest = this.#left;
      this.#stuck = this.#all[must[0] ?? -1];
    }
  }

  #back({ undo, chosen, latest }: Frame): void {
    if (chosen >= 0) {
      undo?.();
      this.#mark(chosen, false);
    }
    this.#latest = latest;
  }

  #mark(number: number, isDone: boolean): void {
    const sign = isDone ? 1 : -1;
    const [next, previous] = [this.#next[number]!, this.#previous[number]!];
    this.#next[previous] = isDone ? next : number;
    this.#previous[next] = isDone ? previous : number;
    this.#left -= this.#all[number]!.maybe ? 0 : sign;
    this.#sum[0] = (this.#sum[0] + sign * this.#marks[number]![0]) | 0;
    this.#sum[1] = (this.#sum[1] + sign * this.#marks[number]![1]) | 0;
  }

  #key(): string {
    return `${this.#sum[0]} ${this.#sum[1]} ${this.#model.fingerprint()}`;
  }
}

/** 32 bits that look random. */
function mixed(number: number): number {
  let bits = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  bits = Math.imul(bits ^ (bits >>> 16), 0x45d9f3b);
  return (bits ^ (bits >>> 16)) | 0;
}

import { AsyncLocalStorage } from "node:async_hooks";
import type { Random } from "../../testkit/random.js";

/** Milliseconds since 1970 at which every simulation begins. */
const epochMs = 1_760_000_000_000;

/** A process of the world. */
export class SimulatedProcess {
  /** Microseconds until which nothing happens in it. */
  pausedUntil = 0;
  /** Until when it was stopped in the middle of its work: its clocks show that time already. */
  stoppedUntil = 0;
  isDead = false;

  /** @param skewMs - how much its clock of the day is ahead of the server's */
  constructor(
    readonly name: string,
    readonly skewMs: number,
  ) {}
}

/** On whose behalf code runs, and what it draws its random numbers from. */
export interface Place {
  readonly process: SimulatedProcess;
  readonly random: Random;
}

const places = new AsyncLocalStorage<Place>();

/** Something that will happen: an arrival, the end of a timer. */
export interface Happening {
  due: number;
  readonly order: number;
  readonly process: SimulatedProcess | undefined;
  /** The process whose request arrives at the server; undefined for all else, and where the request was lost. */
  readonly sender: () => SimulatedProcess | undefined;
  readonly says: string;
  readonly happen: () => void | Promise<void>;
  isCancelled: boolean;
}

/** Undoes what was planned. */
export type Cancel = () => void;

/** The end of a simulation that would never end. */
export class Stuck extends Error {}

/** Longest simulation, in virtual microseconds. */
const longest = 900_000_000;

/** How long a request is under way, in microseconds, where a scheduler decides when it arrives. */
const wayMicroseconds = 100;

/** Decides which of the requests that are under way arrives next, given the first of each process; undefined: none. */
export type Scheduler = (underWay: readonly Happening[]) => Promise<Happening | undefined>;

/**
 * The time of a simulation, in microseconds, and all that is to happen in it. One thing happens at a time, the next
 * only when all that followed from it is done.
 */
export class World {
  #now = 0;
  #planned: Happening[] = [];
  #order = 0;
  #immediates = 0;
  /** Without one, requests arrive when they are due. */
  scheduler: Scheduler | undefined;
  /** A line for each event. */
  readonly history: string[] = [];

  get now(): number {
    return this.#now;
  }

  /** Runs code on behalf of a process. */
  within<T>(place: Place, work: () => T): T {
    return places.run(place, work);
  }

  /** On whose behalf the running code runs; undefined outside of the world. */
  get place(): Place | undefined {
    return places.getStore();
  }

  /** A moment of its own, so that what is noted one after the other is in this order. */
  tick(): number {
    this.#now += 1;
    return this.clock();
  }

  /** The clock of the running process, which only measures. */
  clock(): number {
    return Math.max(this.#now, this.place?.process.stoppedUntil ?? 0);
  }

  /** The clock of the day of the running process, in milliseconds. */
  today(): number {
    return epochMs + Math.floor(this.clock() / 1_000) + (this.place?.process.skewMs ?? 0);
  }

  /** The clock of the day of the server, in seconds. */
  get serverSeconds(): number {
    return epochMs / 1_000 + Math.floor(this.#now / 1_000) / 1_000;
  }

  /** Plans something for a time. Where it concerns a process, it waits for the end of a pause, or dies with it. */
  plan(
    due: number,
    says: string,
    {
      process,
      sender = () => undefined,
      happen,
    }: {
      readonly process?: SimulatedProcess | undefined;
      readonly sender?: Happening["sender"];
      readonly happen: () => void | Promise<void>;
    },
  ): Cancel {
    this.#order += 1;
    const planned: Happening = { due, order: this.#order, process, sender, says, happen, isCancelled: false };
    this.#planned.push(planned);
    return () => {
      planned.isCancelled = true;
    };
  }

  /** Resolves after a time, in milliseconds. */
  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.plan(this.#now + milliseconds * 1_000, "", { happen: resolve }));
  }

  /** Notes that the running process asked Node.js to call it again soon. */
  soon(begun: boolean): void {
    this.#immediates += begun ? 1 : -1;
  }

  note(says: string): void {
    this.history.push(`${(this.#now / 1_000).toFixed(3).padStart(12)} ${says}`);
  }

  /** Lets things happen until the work is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = () => void (isDone = true);
    work.then(done, done);
    for (await this.#quiet(); !isDone; await this.#quiet()) {
      const next = (await this.#scheduled()) ?? this.#next();
      if (next === undefined || next.due > longest) {
        throw new Stuck(next === undefined ? "nothing more can happen" : "it does not end");
      }
      this.#now = Math.max(this.#now + 1, next.due);
      if (next.says !== "") {
        this.note(next.says);
      }
      await next.happen();
    }
    return work;
  }

  /** The request that the scheduler lets arrive; undefined where something else comes before all requests. */
  async #scheduled(): Promise<Happening | undefined> {
    if (this.scheduler === undefined) {
      return undefined;
    }
    const soon = this.#now + wayMicroseconds;
    const first = new Map<SimulatedProcess, Happening>();
    for (const each of this.#dropVoid()) {
      const sender = each.sender();
      if (sender === undefined && Math.max(each.due, each.process?.pausedUntil ?? 0) <= soon) {
        return undefined;
      }
      if (sender !== undefined && !first.has(sender)) {
        first.set(sender, each);
      }
    }
    const underWay = [...first.values()].filter(({ due }) => due <= soon);
    const next = underWay.length === 0 ? undefined : await this.scheduler(underWay);
    this.#planned = this.#planned.filter((each) => each !== next);
    return next;
  }

  #next(): Happening | undefined {
    for (;;) {
      const next = this.#dropVoid().reduce<Happening | undefined>(
        (first, each) => (first === undefined || isBefore(each, first) ? each : first),
        undefined,
      );
      const until = next?.process?.pausedUntil ?? 0;
      if (next === undefined || next.due >= until) {
        this.#planned = this.#planned.filter((each) => each !== next);
        return next;
      }
      next.due = until;
    }
  }

  /** The plans but those that were cancelled or died with their process, which are forgotten. */
  #dropVoid(): readonly Happening[] {
    this.#planned = this.#planned.filter(({ isCancelled, process }) => !isCancelled && process?.isDead !== true);
    return this.#planned;
  }

  /** Resolves when nothing runs any more: promises and ticks come before what Node.js calls immediates. */
  async #quiet(): Promise<void> {
    do {
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.#immediates > 0);
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.due < other.due || (one.due === other.due && one.order < other.order);
}

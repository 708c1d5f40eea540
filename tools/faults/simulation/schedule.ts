import type { Deviation } from "./scenario.js";
import type { Happening, SimulatedProcess } from "./world.js";

/** The faults that may meet the request which arrives next. */
const scheduledFaults = ["lose-reply", "kill", "stall", "full"] as const;

/** The request that arrives next, with the fault that it meets. */
export interface Choice {
  readonly request: Happening;
  readonly sender: SimulatedProcess;
  readonly fault: (typeof scheduledFaults)[number] | undefined;
}

/**
 * An order in which requests arrive. The first schedule lets a process go on for as long as it has requests; another
 * deviates from it at single choices, by a request of another process or by a fault: delay-bounded scheduling, after
 * Emmi, Qadeer and Rakamarić (POPL 2011).
 */
export class Schedule {
  readonly #deviations: ReadonlyMap<number, number>;
  #last: SimulatedProcess | undefined;
  /** How many options there were at each choice that was made; 0 is the first schedule's. */
  readonly options: number[] = [];

  constructor(order: readonly Deviation[]) {
    this.#deviations = new Map(order);
  }

  choose(underWay: readonly Happening[]): Choice {
    const next = underWay.find((each) => each.sender() === this.#last) ?? underWay[0]!;
    const requests = [next, ...underWay.filter((each) => each !== next)];
    const choice = this.options.push(requests.length + scheduledFaults.length) - 1;
    const option = this.#deviations.get(choice) ?? 0;
    const request = requests[option] ?? next;
    this.#last = request.sender()!;
    return { request, sender: this.#last, fault: scheduledFaults[option - requests.length] };
  }
}

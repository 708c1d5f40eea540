import type { Redis } from "ioredis";

interface Waiting {
  readonly due: number;
  readonly release: () => void;
}

/**
 * A network on which commands and replies take random numbers of steps, most few and some many, so that they arrive in
 * any order. One step is taken at a time, when the server has nothing to do: the same seed gives the same order.
 */
export class SlowNetwork {
  #isSlow = false;
  #random = 0;
  #now = 0;
  #inFlight = 0;
  #waiting: Waiting[] = [];

  /** Runs work whose commands take their time; what goes on afterwards is as fast as ever. */
  async during<T>(seed: number, work: () => Promise<T>): Promise<T> {
    this.#random = seed;
    this.#isSlow = true;
    const delivering = this.#deliver();
    try {
      return await work();
    } finally {
      this.#isSlow = false;
      await delivering;
    }
  }

  /** The same client, over this network. */
  client(client: Redis): Redis {
    const carry = this.#carry.bind(this);
    return new Proxy(client, {
      get(target, name) {
        if (name === "call") {
          return (verb: string, args: never[]) => carry(() => target.call(verb, args));
        }
        if (name === "multi" || name === "pipeline") {
          return (commands: never) => ({ exec: () => carry(() => target[name](commands).exec()) });
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value as () => unknown).bind(target) : value;
      },
    });
  }

  /** Resolves after so many steps, or when the network is fast again and nothing is under way. */
  wait(steps: number): Promise<void> {
    return new Promise((release) => this.#waiting.push({ due: this.#now + steps, release }));
  }

  async #carry<T>(send: () => Promise<T>): Promise<T> {
    await this.#delayed();
    this.#inFlight += 1;
    const reply = await send().finally(() => (this.#inFlight -= 1));
    await this.#delayed();
    return reply;
  }

  async #delayed(): Promise<void> {
    await (this.#isSlow ? this.wait(this.#delay()) : undefined);
  }

  async #deliver(): Promise<void> {
    while (this.#isSlow || this.#waiting.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#inFlight === 0 && this.#waiting.length > 0) {
        const next = this.#waiting.reduce((first, each) => (each.due < first.due ? each : first));
        this.#waiting = this.#waiting.filter((each) => each !== next);
        this.#now = next.due;
        next.release();
      }
    }
  }

  #delay(): number {
    const [kind, length] = [this.#next(), this.#next()];
    return length * (kind < 0.7 ? 2 : kind < 0.9 ? 12 : 60);
  }

  /** Mulberry32: numbers from 0 to 1. */
  #next(): number {
    this.#random = (this.#random + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), 61 | bits);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  }
}

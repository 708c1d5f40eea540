import { Redis } from "ioredis";
import { Random } from "../random.js";
import { interceptedClient } from "./intercepted-client.js";
import { startRedis, type PrivateRedis } from "../servers/redis-server.js";

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
  #random = new Random(0);
  #now = 0;
  #inFlight = 0;
  #waiting: Waiting[] = [];

  /** Runs work whose commands take their time; what goes on afterwards is as fast as ever. */
  async during<T>(seed: number, work: () => Promise<T>): Promise<T> {
    this.#random = new Random(seed);
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
    return interceptedClient(client, (send) => this.#carry(send));
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
    const [kind, length] = [this.#random.next(), this.#random.next()];
    return length * (kind < 0.7 ? 2 : kind < 0.9 ? 12 : 60);
  }
}

/** For the tests of a `describe`: a server of their own, a client of it, and those of three processes on a network. */
export class SlowProcesses {
  readonly network = new SlowNetwork();
  client!: Redis;
  clients!: readonly Redis[];

  constructor() {
    let server: PrivateRedis;
    beforeAll(async () => {
      server = await startRedis();
      this.client = new Redis(server.url);
      this.clients = [0, 1, 2].map(() => this.network.client(this.client));
    });
    afterAll(async () => {
      this.client.disconnect();
      await server.stop();
    });
  }
}

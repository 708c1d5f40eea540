import { monitorEventLoopDelay, type IntervalHistogram } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Redis } from "ioredis";

/** How a process and its server were after so many turns. */
export interface Sample {
  readonly turns: number;
  /** Since the process's first sample, in seconds. */
  readonly seconds: number;
  /** Bytes: resident, and of the heap after a collection of garbage. */
  readonly resident: number;
  readonly heap: number;
  /** Milliseconds by which the event loop was late since the sample before. */
  readonly delay: { readonly median: number; readonly p99: number; readonly max: number };
  /** Of the server: bytes, clients besides this sampler's own, keys, and keys that have expired so far. */
  readonly redis: {
    readonly bytes: number;
    readonly clients: number;
    readonly keys: number;
    readonly expired: number;
  };
}

/** The timer of the histogram: what it measures is later than this by the delay. */
const resolution = 10;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Takes samples of this process and of a Redis server. */
export class LifeSigns {
  readonly samples: Sample[] = [];
  readonly #client: Redis;
  readonly #delays: IntervalHistogram;
  readonly #began = performance.now();

  constructor(url: string) {
    this.#client = new Redis(url);
    this.#delays = monitorEventLoopDelay({ resolution });
    this.#delays.enable();
  }

  async sample(turns: number): Promise<void> {
    const delay = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolution);
    const [median, p99, max] = [50, 99, 100].map((percentile) => delay(this.#delays.percentile(percentile)));
    collectGarbage();
    const { rss, heapUsed } = process.memoryUsage();
    const info = await this.#client.info();
    const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
    this.samples.push({
      turns,
      seconds: (performance.now() - this.#began) / 1000,
      resident: rss,
      heap: heapUsed,
      delay: { median: median!, p99: p99!, max: max! },
      redis: {
        bytes: figure("used_memory"),
        clients: figure("connected_clients") - 1,
        keys: await this.#client.dbsize(),
        expired: figure("expired_keys"),
      },
    });
    // The collection above is this sampler's own and does not count as a delay.
    await new Promise((resolve) => setTimeout(resolve, 2 * resolution));
    this.#delays.reset();
  }

  lastLine(): string {
    const { turns, seconds, resident, heap, delay, redis } = this.samples.at(-1)!;
    const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
    return (
      `${turns} turns, ${seconds.toFixed(0)} s: resident ${megabytes(resident)}, heap ${megabytes(heap)}, ` +
      `delay p99 ${delay.p99.toFixed(1)} ms, Redis ${megabytes(redis.bytes)}, ${redis.clients} clients, ` +
      `${redis.keys} keys`
    );
  }

  close(): void {
    this.#delays.disable();
    this.#client.disconnect();
  }
}

import { sessionKeys } from "../src/store/redis/keys.js";
import { escapeGlob } from "../src/store/redis/scan-keys.js";
import type { FoundSession } from "./all-sessions.js";
import { scanKeys } from "./find-keys.js";
import type { Server } from "./server.js";

/** The memory of all sessions in Redis, in bytes. */
export interface MemoryFigures {
  /** Sessions that were measured. */
  readonly sampled: number;
  readonly perSession: number;
  readonly perMessage: number;
  /** All sessions with the lists of owners; between `low` and `high` where not all were measured. */
  readonly total: number;
  readonly low: number;
  readonly high: number;
  /** The lists of owners, a part of the total. */
  readonly lists: number;
}

/** Sessions that are measured together. */
const batchSize = 100;
/** The range is this many standard errors wide on each side: wide enough for sizes that are not spread evenly. */
const errors = 4;

type Sized = Pick<FoundSession, "sessionId" | "messages">;

/**
 * Measures sessions: all, or a sample. Half of a sample are the sessions with the most messages, which take most of the
 * memory; the other half is a random choice of the rest.
 */
export class SessionMemory {
  readonly #server: Pick<Server, "client" | "keyPrefix">;
  readonly #sampleSize: number | undefined;
  readonly #all = new Sum();
  #waiting: Sized[] = [];
  #largest: Sized[] = [];
  readonly #chosen: Sized[] = [];
  #rest = 0;
  #sessions = 0;
  #messages = 0;
  #isRefused = false;

  /** `sampleSize` is how many are measured; undefined for all. */
  constructor(server: Pick<Server, "client" | "keyPrefix">, sampleSize: number | undefined) {
    this.#server = server;
    this.#sampleSize = sampleSize;
  }

  async add(session: Sized): Promise<void> {
    this.#sessions += 1;
    this.#messages += session.messages;
    const { sessionId, messages } = session;
    if (this.#sampleSize === undefined) {
      this.#waiting.push({ sessionId, messages });
      await (this.#waiting.length >= batchSize ? this.#measureWaiting() : undefined);
      return;
    }
    this.#largest.push({ sessionId, messages });
    if (this.#largest.length > 2 * this.#half + batchSize) {
      this.#leaveLargest();
    }
  }

  /** The figures; undefined where there is no session, or this user may not ask. */
  async figures(): Promise<MemoryFigures | undefined> {
    this.#leaveLargest();
    const isWhole = this.#sampleSize === undefined || this.#chosen.length === this.#rest;
    this.#waiting.push(...(this.#sampleSize === undefined ? [] : this.#largest));
    await this.#measureWaiting();
    const sample = new Sum();
    for (const size of await this.#sizesOf(this.#chosen)) {
      sample.add(size);
    }
    const lists = await this.#listsOfOwners();
    if (this.#isRefused || this.#sessions === 0) {
      return undefined;
    }
    const sessions = this.#all.total + this.#rest * sample.mean;
    const margin = isWhole ? 0 : errors * this.#rest * sample.errorOfMean(this.#rest);
    const measured = this.#all.total + sample.total;
    return {
      sampled: this.#all.count + sample.count,
      perSession: sessions / this.#sessions,
      perMessage: sessions / Math.max(1, this.#messages),
      total: sessions + lists,
      low: Math.max(measured, sessions - margin) + lists,
      high: sessions + margin + lists,
      lists,
    };
  }

  get #half(): number {
    return Math.max(1, Math.floor((this.#sampleSize ?? 0) / 2));
  }

  /** Keeps those with the most messages. Each of the others has the same chance to be chosen (reservoir sampling). */
  #leaveLargest(): void {
    this.#largest.sort((a, b) => b.messages - a.messages);
    const size = Math.max(2, (this.#sampleSize ?? 0) - this.#half);
    for (const session of this.#largest.splice(this.#half)) {
      this.#rest += 1;
      const place = this.#rest <= size ? this.#chosen.length : Math.floor(Math.random() * this.#rest);
      if (place < size) {
        this.#chosen[place] = session;
      }
    }
  }

  async #measureWaiting(): Promise<void> {
    for (const size of await this.#sizesOf(this.#waiting.splice(0))) {
      this.#all.add(size);
    }
  }

  async #sizesOf(sessions: readonly Sized[]): Promise<number[]> {
    const sizes: number[] = [];
    for (let first = 0; first < sessions.length; first += batchSize) {
      const some = sessions.slice(first, first + batchSize);
      sizes.push(...(await Promise.all(some.map(({ sessionId }) => this.#sizeOf(sessionId)))));
    }
    return sizes;
  }

  async #sizeOf(sessionId: string): Promise<number> {
    try {
      return this.#isRefused ? 0 : await sizeOfSession(this.#server, sessionId);
    } catch (error) {
      return this.#refused(error);
    }
  }

  async #listsOfOwners(): Promise<number> {
    const { client, keyPrefix } = this.#server;
    let total = 0;
    for await (const keys of scanKeys(client, { match: `${escapeGlob(`${keyPrefix}:{owner:`)}*`, signal: undefined })) {
      const sizes = await Promise.all(keys.map((key) => this.#sizeOfKey(key)));
      total += sizes.reduce((sum, size) => sum + size, 0);
    }
    return total;
  }

  async #sizeOfKey(key: string): Promise<number> {
    try {
      return this.#isRefused ? 0 : await sizeOfKey(this.#server, key);
    } catch (error) {
      return this.#refused(error);
    }
  }

  /** This user may not ask: nothing is measured. */
  #refused(error: unknown): number {
    if (!/^NOPERM/.test((error as Error).message)) {
      throw error;
    }
    this.#isRefused = true;
    return 0;
  }
}

/** The bytes that a session takes in Redis. */
export async function sizeOfSession(server: Pick<Server, "client" | "keyPrefix">, sessionId: string): Promise<number> {
  const { log, ids, state } = sessionKeys(server.keyPrefix, sessionId);
  // Entries of ids are all as long, so that Redis may estimate them; a log is measured whole, node by node.
  const sizes = await Promise.all([sizeOfKey(server, log, 0), sizeOfKey(server, ids), sizeOfKey(server, state, 0)]);
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function sizeOfKey({ client }: Pick<Server, "client">, key: string, samples?: number): Promise<number> {
  const usage = samples === undefined ? client.memory("USAGE", key) : client.memory("USAGE", key, "SAMPLES", samples);
  return Number((await usage) ?? 0);
}

/** Sums of numbers that are not kept. */
class Sum {
  count = 0;
  total = 0;
  #squares = 0;

  add(value: number): void {
    this.count += 1;
    this.total += value;
    this.#squares += value * value;
  }

  get mean(): number {
    return this.total / Math.max(1, this.count);
  }

  /** The standard error of the mean, for a random choice of that many. */
  errorOfMean(population: number): number {
    const variance = Math.max(0, this.#squares - this.count * this.mean ** 2) / Math.max(1, this.count - 1);
    return Math.sqrt((variance / Math.max(1, this.count)) * (1 - this.count / Math.max(1, population)));
  }
}

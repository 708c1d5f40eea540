import type { RedisClient } from "./client.js";

/** The part of an ioredis client that tells how its connection is. */
interface ObservableClient extends RedisClient {
  readonly status?: string;
  on?(event: string, listener: (argument: unknown) => void): unknown;
  listenerCount?(event: string): number;
  connect?(): Promise<unknown>;
  /** The pause before the next attempt to open the connection; ioredis 5 and 6 keep it here. */
  reconnectTimeout?: NodeJS.Timeout | null;
}

/** A failure that is younger says how the connection is; another attempt at once would say the same. */
const freshMs = 100;

const watches = new WeakMap<RedisClient, ConnectionWatch>();

/**
 * Watches the connection of a client: whether it is up, and why it cannot be opened.
 *
 * One watch serves all stores that share the client.
 */
export class ConnectionWatch {
  readonly #client: ObservableClient;
  readonly #waiting = new Set<() => void>();
  readonly #waitingToOpen = new Set<() => void>();
  #hearsErrors = false;
  #failure: unknown;
  /** When the last attempt to open the connection failed, as `performance.now()`. */
  #failedAt = -Infinity;
  #sentinelFailure: unknown;
  /** When the connection broke, as `performance.now()`; undefined while it is up. */
  #brokenAt: number | undefined = -Infinity;
  #openings = 0;

  private constructor(client: ObservableClient) {
    this.#client = client;
    if (client.status === "ready") {
      this.#opened();
    }
    client.on?.("ready", () => this.#opened());
    client.on?.("close", () => (this.#brokenAt ??= performance.now()));
    client.on?.("sentinelError", (error) => (this.#sentinelFailure = error));
  }

  /** Returns the watch of a client that this package opened; every failure of its connection is heard. */
  static ofOwn(client: RedisClient): ConnectionWatch {
    const watch = watches.get(client) ?? new ConnectionWatch(client);
    watches.set(client, watch);
    watch.#hearErrors();
    return watch;
  }

  /**
   * Returns the watch of any client.
   *
   * Failures of a client of the application's are heard only if the application listens to `error` itself: without a
   * listener ioredis prints them, and a listener of ours would silence that.
   */
  static of(client: RedisClient): ConnectionWatch {
    const watch = watches.get(client) ?? new ConnectionWatch(client);
    watches.set(client, watch);
    if (!watch.#hearsErrors && (watch.#client.listenerCount?.("error") ?? 0) > 0) {
      watch.#hearErrors();
    }
    return watch;
  }

  /** Number of times that the connection was opened, so that two moments of one connection can be told. */
  get openings(): number {
    return this.#openings;
  }

  /** Milliseconds since an open connection broke; undefined while it is up, and before it was ever open. */
  get brokenFor(): number | undefined {
    const isBroken = !this.isUp && this.#openings > 0 && this.#client.status !== "end";
    return isBroken ? performance.now() - (this.#brokenAt ?? performance.now()) : undefined;
  }

  /** True if commands are sent at once; false if the client would queue or refuse them. */
  get isUp(): boolean {
    return this.#client.status === undefined || this.#client.status === "ready";
  }

  /**
   * Returns why the connection cannot be opened, if it is down and an attempt to open it has failed.
   *
   * A connection that was up and broke is given `patience` milliseconds to come back before its failure counts.
   */
  failure(patience: number): unknown {
    const counts = !this.isUp && performance.now() - (this.#brokenAt ?? Infinity) >= patience;
    return counts ? this.#failure : undefined;
  }

  /**
   * True where an attempt to open the connection is under way. Where the client pauses before its next one, and the
   * last failure is not of this moment, the attempt is made at once.
   */
  triesToOpen(): boolean {
    const { status, reconnectTimeout } = this.#client;
    if (performance.now() - this.#failedAt < freshMs) {
      return false;
    }
    if (status !== "reconnecting" || !reconnectTimeout || this.#client.connect === undefined) {
      return status === "connecting" || status === "connect";
    }
    clearTimeout(reconnectTimeout);
    this.#client.reconnectTimeout = null;
    // Its failure is heard as that of any attempt.
    this.#client.connect().catch(() => undefined);
    return true;
  }

  /** Calls the listener whenever the connection is open; returns a function that ends this. */
  onOpen(listener: () => void): () => void {
    this.#waitingToOpen.add(listener);
    return () => void this.#waitingToOpen.delete(listener);
  }

  /** Calls the listener whenever an attempt to open the connection fails; returns a function that ends this. */
  onFailure(listener: () => void): () => void {
    this.#waiting.add(listener);
    return () => void this.#waiting.delete(listener);
  }

  #opened(): void {
    this.#openings += 1;
    this.#brokenAt = undefined;
    this.#failure = undefined;
    this.#waitingToOpen.forEach((listener) => listener());
  }

  #hearErrors(): void {
    if (this.#hearsErrors || this.#client.on === undefined) {
      return;
    }
    this.#hearsErrors = true;
    this.#client.on("error", (error) => {
      // An error of a connection that is up ends it, but does not say that it cannot be opened again.
      if (!this.isUp) {
        // ioredis sums up what the Sentinels answered; the last answer says more.
        this.#failure = isSummaryOfSentinels(error) ? (this.#sentinelFailure ?? error) : error;
        this.#failedAt = performance.now();
        this.#waiting.forEach((listener) => listener());
      }
    });
  }
}

function isSummaryOfSentinels(error: unknown): boolean {
  return /^All sentinels are unreachable/.test(String((error as Error).message));
}

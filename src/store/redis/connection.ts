import type { Redis } from "ioredis";
import { ConfigurationError } from "../../base/errors.js";
import { inTime } from "../../base/bounds.js";
import { connectionOptions, type ConnectionOptions, urlOptions, type ConnectionSource } from "./connection-options.js";

/** Provides the client that commands go through. */
export interface Connection {
  /** Returns the application's client, or opens one at the first call. */
  client(): Promise<RedisClient>;
  /**
   * Closes what was opened here; a client of the application stays open. Waits for pending replies, at most
   * `milliseconds`.
   */
  close(milliseconds: number): Promise<void>;
  /** Replaces a connection that was opened here by a new one; leaves a client of the application alone. */
  renew(): void;
  /** Opens another connection to the same server, for commands that block. Who asks for it disconnects it. */
  another(): Promise<OwnClient>;
}

/** A client that was opened here. */
export interface OwnClient extends RedisClient {
  readonly status: string;
  /** The socket, once there is one. */
  readonly stream?: { on(event: "error", listener: () => void): unknown };
  quit(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
}

/**
 * Returns the connection that the options describe; nothing is opened before the first call.
 *
 * `commandTimeout` in milliseconds bounds how long a connection that is opened here may be silent.
 *
 * @throws ConfigurationError for none or several of the three, for a client that is not an ioredis client, and for
 *   options that cannot be translated.
 */
export function openConnection(owner: string, source: ConnectionSource, commandTimeout: number): Connection {
  const { client, url, config } = source;
  const named = Object.entries({ client, url, config }).filter(([, value]) => value !== undefined);
  if (named.length !== 1) {
    const got = named.length === 0 ? "none" : named.map(([name]) => name).join(" and ");
    throw new ConfigurationError(
      "client",
      `${owner}: exactly one of "client", "url" and "config" is needed; got ${got}.`,
    );
  }
  if (url !== undefined) {
    return ownConnection(withTimeouts(urlOptions({ url, option: "url", owner }), commandTimeout));
  }
  if (config !== undefined) {
    return ownConnection(withTimeouts(connectionOptions(owner, checkedConfig(owner, config)), commandTimeout));
  }
  const checked = checkedClient(owner, client);
  const another = async () => duplicateOf(owner, checked);
  return { client: async () => checked, close: async () => undefined, renew: () => undefined, another };
}

/** Commands that block have no timeouts: who sends them watches them. Nothing is sent again by itself. */
const blocking = { socketTimeout: undefined, commandTimeout: undefined, autoResendUnfulfilledCommands: false };

function duplicateOf(owner: string, client: RedisClient): OwnClient {
  const { duplicate, options, isCluster } = client as unknown as {
    readonly duplicate?: (...args: unknown[]) => OwnClient;
    readonly options?: { readonly redisOptions?: object };
    readonly isCluster?: boolean;
  };
  if (duplicate === undefined) {
    throw new ConfigurationError("client", `${owner}: the client has no method duplicate(), which runs need.`);
  }
  const settings = { ...blocking, enableAutoPipelining: false };
  const opened = isCluster
    ? duplicate.call(client, [], {
        enableAutoPipelining: false,
        redisOptions: { ...options?.redisOptions, ...blocking },
      })
    : duplicate.call(client, { ...settings, retryStrategy: pauseBeforeRetry });
  ConnectionWatch.ofOwn(opened);
  return opened;
}

function checkedClient(owner: string, client: unknown): RedisClient {
  if (!isRedisClient(client)) {
    const advice = "of node-redis, pass the url or config instead";
    const message = `${owner}: option "client" must be an ioredis Redis or Cluster, version 5 or 6; ${advice}.`;
    throw new ConfigurationError("client", message);
  }
  return client;
}

function checkedConfig(owner: string, config: unknown): Readonly<Record<string, unknown>> {
  const isClient = "on" in (Object(config) as object);
  if (typeof config !== "object" || config === null || Array.isArray(config) || isClient) {
    const message = `${owner}: option "config" must be an object of connection options; pass a client as "client".`;
    throw new ConfigurationError("config", message);
  }
  return config as Readonly<Record<string, unknown>>;
}

/**
 * Adds what makes ioredis leave a connection that died silently; options that were given stay.
 *
 * The socket's timeout leaves a quarter of the call's time for another try on a new connection, and is longer than the
 * half that WAIT may take. Without limits ioredis waits for ever for a silent Sentinel, and two seconds for a frozen
 * master to close a connection that is left. It waits as long for one that is closed already, which keeps the process
 * alive after `close()` where the server is gone. By itself it pauses up to five seconds between two attempts to open
 * the connection, for calls that wait for it in vain meanwhile.
 */
function withTimeouts({ url, options }: ConnectionOptions, commandTimeout: number): ConnectionOptions {
  const socketTimeout = Math.ceil(0.75 * commandTimeout);
  const connectTimeout = Math.min(10_000, Math.max(1_000, commandTimeout));
  const ofSentinel = { failoverDetector: true, sentinelCommandTimeout: 2_000 };
  const times = { socketTimeout, connectTimeout, disconnectTimeout: 500 };
  const defaults = { ...times, retryStrategy: pauseBeforeRetry, ...("sentinels" in options && ofSentinel) };
  return { url, options: { ...defaults, ...options } };
}

/** Milliseconds before an attempt to open a connection; a part is random, so that not all processes try at once. */
function pauseBeforeRetry(attempt: number): number {
  return Math.min(50 * 2 ** (attempt - 1), 400) + Math.random() * 100;
}

function ownConnection(options: ConnectionOptions): Connection {
  // Takes 80 ms, which the first call would wait for; what cannot be loaded is reported there.
  loadClient().catch(() => undefined);
  let opened: Promise<OwnClient> | undefined;
  let isClosed = false;
  return {
    client: async () => {
      const current = (opened ??= connect(options));
      const { status } = await current;
      // ioredis gives up for good where `retryStrategy` says so, and by a defect: if a failoverDetector hears of the
      // failover while the client looks for the new master. Several calls may notice it; one opens the new client.
      if (status === "end" && !isClosed && opened === current) {
        opened = connect(options);
      }
      return opened;
    },
    close: async (milliseconds) => {
      isClosed = true;
      const client = await opened?.catch(() => undefined);
      if (client !== undefined) {
        await end(client, milliseconds);
      }
    },
    renew: () => void opened?.then((client) => client.disconnect(true)).catch(() => undefined),
    another: () => connect({ ...options, options: { ...options.options, ...blocking } }),
  };
}

async function loadClient(): Promise<(typeof import("ioredis"))["Redis"]> {
  // ioredis before 5.1 does not export the name Redis; there the module is the class.
  const module: Partial<Pick<typeof import("ioredis"), "Redis">> & { default: unknown } = await import("ioredis");
  return module.Redis ?? (module.default as (typeof import("ioredis"))["Redis"]);
}

async function connect({ url, options }: ConnectionOptions): Promise<OwnClient> {
  const Redis = await loadClient();
  // The URL takes precedence over options: ioredis prefers its first argument.
  const client = (url === undefined ? new Redis(options) : new Redis(url, options)) as unknown as OwnClient;
  // Each call reports the failure that it meets; without a listener ioredis would print every failed reconnect.
  ConnectionWatch.ofOwn(client);
  return client;
}

async function end(client: OwnClient, milliseconds: number): Promise<void> {
  if (client.status === "ready") {
    const ignored = () => undefined;
    await inTime(client.quit(), milliseconds, ignored).catch(ignored);
  }
  if (client.status !== "end") {
    // A socket that is closed while its certificate is being refused has two errors. ioredis hears the first one only,
    // and one that nobody hears ends the process.
    client.stream?.on("error", () => undefined);
    client.disconnect();
  }
}

/** The part of an ioredis client that tells how its connection is. */
interface ObservableClient extends RedisClient {
  readonly status?: string;
  on?(event: string, listener: (argument: unknown) => void): unknown;
  listenerCount?(event: string): number;
}

const watches = new WeakMap<RedisClient, ConnectionWatch>();

/**
 * Watches the connection of a client: whether it is up, and why it cannot be opened.
 *
 * One watch serves all stores that share the client.
 */
export class ConnectionWatch {
  readonly #client: ObservableClient;
  /** Told whenever the connection is open, and whenever an attempt to open it fails. */
  readonly listeners = new Set<{ readonly opened: () => void; readonly failed: () => void }>();
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

  /** True if the client makes no further attempt to open the connection. */
  get hasEnded(): boolean {
    return this.#client.status === "end";
  }

  /**
   * Returns why the connection cannot be opened, if it is down and an attempt to open it has failed.
   *
   * A connection that was up and broke is given `patience` milliseconds to come back before its failure counts, and a
   * failure before `since`, as `performance.now()`, does not.
   */
  failure(patience: number, since = -Infinity): unknown {
    const counts = !this.isUp && performance.now() - (this.#brokenAt ?? Infinity) >= patience;
    return counts && this.#failedAt >= since ? this.#failure : undefined;
  }

  #opened(): void {
    this.#openings += 1;
    this.#brokenAt = undefined;
    this.#failure = undefined;
    this.listeners.forEach(({ opened }) => opened());
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
        this.listeners.forEach(({ failed }) => failed());
      }
    });
  }
}

function isSummaryOfSentinels(error: unknown): boolean {
  return /^All sentinels are unreachable/.test(String((error as Error).message));
}

/** A batch of commands for one round trip. */
export interface CommandBatch {
  /** Sends the commands; a result for each, in order. */
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

/**
 * The part of an ioredis `Redis` or `Cluster`, version 5 or 6, that the store uses.
 *
 * The store adds no methods to the client, never closes it and leaves its options unchanged.
 * @example
 * import { Redis } from "ioredis";
 * import { RedisChatMemory, type RedisClient } from "langchain-redis-memory";
 *
 * const client: RedisClient = new Redis("redis://localhost:6379");
 * const replies = await client.multi([["ping"], ["ping"]]).exec(); // the way in which the store reads
 * const memory = new RedisChatMemory({ client });
 */
export interface RedisClient {
  /** Options of the client; read only. */
  readonly options?: unknown;
  /** Sends one command. */
  call(command: string, args: (string | Buffer | number)[]): Promise<unknown>;
  /** Sends commands together. */
  pipeline(commands: [name: string, ...args: unknown[]][]): CommandBatch;
  /** Sends commands as one transaction. */
  multi(commands: [name: string, ...args: unknown[]][]): CommandBatch;
}

/** Node's own: tests that stop the clock replace the function in `process`, and would keep back what was written. */
const { nextTick } = process;

const corked = new WeakSet<object>();

/**
 * Corks the client's socket until the tick ends, so that calls of one tick share one system call. Preserves the order.
 */
export function corkForTick(client: RedisClient): void {
  const { status, stream } = client as Partial<Pick<Redis, "status" | "stream">>;
  if (status !== "ready" || typeof stream?.cork !== "function" || corked.has(stream)) {
    return;
  }
  corked.add(stream);
  stream.cork();
  nextTick(() => {
    corked.delete(stream);
    stream.uncork();
  });
}

/** True for an ioredis client. Checks the shape, because the application may use another copy of ioredis. */
function isRedisClient(value: unknown): value is RedisClient {
  const client = Object(value) as Record<string, unknown>;
  return ["call", "pipeline", "multi", "defineCommand"].every((name) => typeof client[name] === "function");
}

/**
 * Address of a client, for errors: host and port, socket path, Sentinels of a master, or first nodes of a Cluster.
 * Never a user or password. Undefined if the client does not expose it.
 */
export function serverOf(client: RedisClient): string | undefined {
  const { path, host, port, sentinels, name } = (client.options ?? {}) as Readonly<Record<string, unknown>>;
  const { startupNodes } = client as { readonly startupNodes?: unknown };
  if (Array.isArray(startupNodes)) {
    return `${placesOf(startupNodes)} (nodes of a Cluster)`;
  }
  if (Array.isArray(sentinels)) {
    return `${placesOf(sentinels)} (Sentinels of ${String(name)})`;
  }
  if (typeof path === "string") {
    return path;
  }
  return typeof host === "string" ? `${host}:${String(port)}` : undefined;
}

const mostPlaces = 3;

function placesOf(nodes: readonly unknown[]): string {
  const places = nodes.slice(0, mostPlaces).map((node) => {
    if (typeof node === "string") {
      // May hold a user and a password.
      return URL.canParse(node) ? new URL(node).host : "?";
    }
    const { host = "127.0.0.1", port = typeof node === "number" ? node : "?" } = Object(node) as {
      readonly host?: unknown;
      readonly port?: unknown;
    };
    return `${String(host)}:${String(port)}`;
  });
  return places.join(", ") + (nodes.length > mostPlaces ? ", …" : "");
}

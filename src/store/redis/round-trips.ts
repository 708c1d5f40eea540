import type { Script } from "./script.js";
import { report, type MemoryEventHandler } from "../../base/events.js";
import { closed } from "../contract/refusals.js";
import { ConnectionWatch, type Connection } from "./connection.js";
import { corkForTick, serverOf, type RedisClient } from "./client.js";
import { isClientTimeout, isReply, isUnknownScript, timeoutError, toStoreError, type CallName } from "./errors.js";

/** Timeouts in a row after which a connection counts as stalled. */
const stalledAfter = 3;

/** Share of the command timeout in which a connection that broke may come back before calls fail. */
const patience = 0.2;

/** Options of {@link RoundTrips}. */
export interface RoundTripOptions {
  readonly connection: Pick<Connection, "client" | "renew">;
  /** Milliseconds that a call may take, including all retries. */
  readonly commandTimeout: number;
  readonly onEvent: MemoryEventHandler | undefined;
}

/** A call and the end of its time, as `performance.now()`. */
export interface Deadline {
  readonly name: CallName;
  /** True if the call may change something. */
  readonly writes: boolean;
  readonly at: number;
  /** The script that is run; undefined for commands. */
  readonly script?: Script | undefined;
  /** The server's last refusal for the moment, which says more than that the next try has no reply in time. */
  refusal?: unknown;
}

/** How a round trip settles. */
interface Settling<T> {
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
}

/** A round trip that waits for its connection. */
interface Waiting {
  /** When it began, as `performance.now()`: a failure before that is none of its own. */
  readonly began: number;
  readonly reject: (failure: unknown) => void;
  /** Called when the round trip has ended. */
  readonly cleanups: (() => void)[];
  /** True once it has ended: nothing is sent for it, and nobody calls further cleanups. */
  isOver(): boolean;
}

/** A round trip that begins. */
interface Trip<T> extends Waiting, Settling<T> {
  readonly name: CallName;
  readonly send: (client: RedisClient) => Promise<T>;
}

/** Sending of a round trip, and the results of its reply and of its error. */
export interface Exchange<Reply, Result> {
  readonly send: (client: RedisClient) => Promise<Reply>;
  readonly accept: (reply: Reply) => Result;
  readonly recover: (error: unknown) => Promise<Result>;
}

/**
 * Makes round trips to Redis, each of them within its deadline.
 *
 * A round trip fails at once if the connection cannot be opened: one that is known to be down is tried to be opened at
 * once, whatever pause the client makes, and what comes of that counts. One that was open and broke is first given a
 * fifth of the command timeout to come back. Every round trip is reported as a `command` event, and a connection that
 * lets three in a row time out as `connection_stalled`.
 */
export class RoundTrips {
  readonly #options: RoundTripOptions;
  readonly #patienceMs: number;
  #closed = false;
  #watch: ConnectionWatch | undefined;
  /** The client of the last round trip: errors name its server. */
  #client: RedisClient | undefined;
  /** Timeouts since the last reply, on one connection. */
  #silence = { connection: 0, timeouts: 0 };

  constructor(options: RoundTripOptions) {
    this.#options = options;
    this.#patienceMs = patience * options.commandTimeout;
  }

  /**
   * Makes a round trip; errors of ioredis come to `recover` unchanged. One promise for all of it: LangChain follows
   * promises by hooks of Node.js, which take longer than the promise itself.
   */
  make<Reply, Result>(deadline: Deadline, { send, accept, recover }: Exchange<Reply, Result>): Promise<Result> {
    const { name, at } = deadline;
    if (this.#closed) {
      return Promise.reject(closed(name.operation, name.sessionId));
    }
    return new Promise<Result>((settle, refuse) => {
      const began = performance.now();
      const cleanups: (() => void)[] = [];
      let isOver = false;
      const end = (failed?: Error) => {
        isOver = true;
        cleanups.forEach((cleanup) => cleanup());
        this.#tell(name, performance.now() - began, failed);
      };
      const resolve = (reply: Reply) => {
        if (isOver) {
          return;
        }
        end();
        try {
          settle(accept(reply));
        } catch (error) {
          refuse(error);
        }
      };
      const reject = (error: unknown) => {
        if (!isOver) {
          // "Connection is closed" and the like say less than the error that closed it.
          const cause = isReply(error) ? error : (this.#watch?.failure(0) ?? error);
          end(isUnknownScript(cause) ? undefined : this.explain(cause, deadline));
          settle(recover(cause));
        }
      };
      const timer = setTimeout(() => reject(deadline.refusal ?? this.#timedOut(deadline)), at - began);
      cleanups.push(() => clearTimeout(timer));
      this.#sendWhenUp({ name, send, began, resolve, reject, cleanups, isOver: () => isOver });
    });
  }

  #sendWhenUp<T>(trip: Trip<T>): void {
    const ask = (client: RedisClient) => {
      corkForTick(client);
      this.#hear(trip.name, trip.send(client), trip);
    };
    const client = this.#clientThatIsUp(trip);
    if (client === undefined) {
      this.#sendWhenUsable(trip, ask).catch(trip.reject);
      return;
    }
    try {
      ask(client);
    } catch (error) {
      trip.reject(error);
    }
  }

  /** The error to throw for one of ioredis or Redis. */
  explain(error: unknown, { name, writes, script }: Deadline): Error {
    return toStoreError(error, name, { writes, server: this.#server(), script });
  }

  #server(): string | undefined {
    return this.#client && serverOf(this.#client);
  }

  #tell(name: CallName, milliseconds: number, error: Error | undefined): void {
    const { onEvent } = this.#options;
    if (onEvent !== undefined) {
      report(onEvent, { type: "command", ...name, milliseconds, ...(error && { error }) });
    }
  }

  /** Makes all later round trips fail with `closed`. */
  close(): void {
    this.#closed = true;
  }

  /** The client of the last round trip, if its connection is up: then nothing is to be waited for. */
  #clientThatIsUp(waiting: Waiting): RedisClient | undefined {
    const client = this.#client;
    const watch = client && ConnectionWatch.of(client);
    if (watch === undefined || watch !== this.#watch || !watch.isUp) {
      return undefined;
    }
    waiting.cleanups.push(rejectionOnFailure(watch, this.#patienceMs, waiting));
    return client;
  }

  async #sendWhenUsable(waiting: Waiting, ask: (client: RedisClient) => void): Promise<void> {
    const client = await this.#options.connection.client();
    this.#client = client;
    // Opening may take longer than the call has.
    if (!waiting.isOver()) {
      await this.#whenUsable(client, waiting);
      ask(client);
    }
  }

  /**
   * Resolves when a command can be sent: at once, but where the connection broke, or an attempt to open it has failed;
   * then when the next attempt, which begins now, has succeeded. From then on `reject` is called as soon as the
   * connection is known to fail.
   *
   * @throws the failure, before anything is sent, if the client makes no further attempt.
   */
  async #whenUsable(client: RedisClient, waiting: Waiting): Promise<void> {
    const watch = ConnectionWatch.of(client);
    if (watch !== this.#watch) {
      this.#watch = watch;
      this.#silence.timeouts = 0;
    }
    const patienceMs = this.#patienceMs;
    const { brokenFor } = watch;
    const known = watch.failure(patienceMs);
    const isDown = known !== undefined || brokenFor !== undefined;
    const isTrying = isDown && watch.triesToOpen();
    if (known !== undefined && !isTrying) {
      throw known;
    }
    const { cleanups } = waiting;
    cleanups.push(rejectionOnFailure(watch, patienceMs, waiting));
    if (isDown) {
      // Never resolves for a call that failed meanwhile: nothing is sent for it.
      await new Promise<void>((resolve) => cleanups.push(watch.onOpen(resolve)));
    }
  }

  /** Passes the outcome on; any reply, even one after the deadline, shows that the connection is alive. */
  #hear<T>(name: CallName, reply: Promise<T>, { resolve, reject }: Settling<T>): void {
    const hear = (result: T) => {
      this.#silence.timeouts = 0;
      resolve(result);
    };
    const fail = (error: unknown) => {
      if (isClientTimeout(error)) {
        this.#noteSilence(name);
      } else {
        this.#silence.timeouts = 0;
      }
      reject(error);
    };
    reply.then(hear, fail);
  }

  #timedOut({ name, writes }: Deadline): unknown {
    const failure = this.#watch?.failure(0) ?? this.#watch?.refusal;
    if (failure === undefined) {
      this.#noteSilence(name);
    }
    return failure ?? timeoutError(name, this.#options.commandTimeout, { writes, server: this.#server() });
  }

  #noteSilence(name: CallName): void {
    if (this.#watch === undefined || !this.#watch.isUp) {
      return;
    }
    const { openings } = this.#watch;
    const timeouts = this.#silence.connection === openings ? this.#silence.timeouts + 1 : 1;
    this.#silence = { connection: openings, timeouts };
    if (timeouts === stalledAfter) {
      report(this.#options.onEvent, { type: "connection_stalled", ...name, timeouts });
      this.#options.connection.renew();
    }
  }
}

/** Rejects when the connection has failed and was given its time to come back; returns a function that ends this. */
function rejectionOnFailure(
  watch: ConnectionWatch,
  patienceMs: number,
  { began, reject }: Pick<Waiting, "reject" | "began">,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  const checkLater = () => {
    clearTimeout(timer);
    const left = patienceMs - (watch.brokenFor ?? Infinity);
    timer = left > 0 ? setTimeout(check, left + 1) : undefined;
  };
  const check = () => {
    const failure = watch.failure(patienceMs, began);
    if (failure !== undefined) {
      reject(failure);
    } else {
      checkLater();
    }
  };
  checkLater();
  const stop = watch.onFailure(check);
  return () => {
    stop();
    clearTimeout(timer);
  };
}

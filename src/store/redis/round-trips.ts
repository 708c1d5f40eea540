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

/** A round trip under way. */
interface Trip {
  /** When it began, as `performance.now()`: a failure before that is none of its own. */
  readonly began: number;
  readonly reject: (failure: unknown) => void;
  /** Called when the round trip has ended. */
  readonly cleanups: (() => void)[];
  /** True once it has ended: nothing is sent for it, and nobody calls further cleanups. */
  isOver: boolean;
}

/** Sending of a round trip, and the results of its reply and of its error. */
export interface Exchange<Reply, Result> {
  readonly send: (client: RedisClient) => Promise<Reply>;
  readonly accept: (reply: Reply) => Result | Promise<Result>;
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
      const end = (failed?: Error) => {
        trip.isOver = true;
        trip.cleanups.forEach((cleanup) => cleanup());
        this.#tell(name, performance.now() - trip.began, failed);
      };
      const reject = (error: unknown) => {
        if (!trip.isOver) {
          // "Connection is closed" and the like say less than the error that closed it.
          const cause = isReply(error) ? error : (this.#watch?.failure(0) ?? error);
          end(isUnknownScript(cause) ? undefined : this.explain(cause, deadline));
          settle(recover(cause));
        }
      };
      // Any reply, even one after the deadline, shows that the connection is alive.
      const resolve = (reply: Reply) => {
        this.#silence.timeouts = 0;
        if (!trip.isOver) {
          end();
          try {
            settle(accept(reply));
          } catch (error) {
            refuse(error);
          }
        }
      };
      const trip: Trip = { began: performance.now(), reject, cleanups: [], isOver: false };
      const timer = setTimeout(() => reject(this.#timedOut(deadline)), at - trip.began);
      trip.cleanups.push(() => clearTimeout(timer));
      this.#sendWhenUp(trip, (client) => {
        corkForTick(client);
        send(client).then(resolve, (error: unknown) => reject(this.#noted(name, error)));
      });
    });
  }

  /** Sends at once where the connection is up that the last round trip went over: nothing is to be waited for. */
  #sendWhenUp(trip: Trip, ask: (client: RedisClient) => void): void {
    const client = this.#client;
    const watch = client && ConnectionWatch.of(client);
    if (client === undefined || watch === undefined || watch !== this.#watch || !watch.isUp) {
      this.#sendWhenUsable(trip, ask).catch(trip.reject);
      return;
    }
    trip.cleanups.push(rejectionOnFailure(watch, this.#patienceMs, trip));
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

  async #sendWhenUsable(trip: Trip, ask: (client: RedisClient) => void): Promise<void> {
    const client = await this.#options.connection.client();
    this.#client = client;
    // Opening may take longer than the call has.
    if (!trip.isOver) {
      await this.#whenUsable(client, trip);
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
  async #whenUsable(client: RedisClient, trip: Trip): Promise<void> {
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
    const { cleanups } = trip;
    cleanups.push(rejectionOnFailure(watch, patienceMs, trip));
    if (isDown) {
      // Never resolves for a call that failed meanwhile: nothing is sent for it.
      await new Promise<void>((resolve) => cleanups.push(watch.onOpen(resolve)));
    }
  }

  #noted(name: CallName, error: unknown): unknown {
    if (isClientTimeout(error)) {
      this.#noteSilence(name);
    } else {
      this.#silence.timeouts = 0;
    }
    return error;
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
  { began, reject }: Pick<Trip, "reject" | "began">,
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

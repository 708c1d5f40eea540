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
  readonly deadline: Deadline;
  readonly send: (client: RedisClient) => Promise<unknown>;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (failure: unknown) => void;
  /** Called when the connection is open that the round trip waits for. */
  opened?: () => void;
}

/** Sending of a round trip, and the results of its reply and of its error. */
export interface Exchange<Reply, Result> {
  readonly send: (client: RedisClient) => Promise<Reply>;
  readonly accept: (reply: Reply) => Result | Promise<Result>;
  readonly recover: (error: unknown) => Promise<Result>;
}

/**
 * Makes round trips to Redis, each of them within its deadline; one timer serves all that are under way.
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
  /** Those under way: nothing is sent for any other, and no reply of one counts. */
  readonly #trips = new Set<Trip>();
  readonly #listener = {
    opened: () => this.#trips.forEach((trip) => trip.opened?.()),
    failed: () => this.#check(),
  };
  #timer: NodeJS.Timeout | undefined;
  /** When the timer ends, as `performance.now()`. */
  #wakesAt = Infinity;
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
    const { name } = deadline;
    const { onEvent } = this.#options;
    if (this.#closed) {
      return Promise.reject(closed(name.operation, name.sessionId));
    }
    return new Promise<Result>((settle, refuse) => {
      const end = (error?: Error) => {
        this.#leave(trip);
        if (onEvent !== undefined) {
          const milliseconds = performance.now() - trip.began;
          report(onEvent, { type: "command", ...name, milliseconds, ...(error && { error }) });
        }
      };
      const reject = (error: unknown) => {
        if (this.#trips.has(trip)) {
          // "Connection is closed" and the like say less than the error that closed it.
          const cause = isReply(error) ? error : (this.#watch?.failure(0) ?? error);
          end(isUnknownScript(cause) ? undefined : this.explain(cause, deadline));
          settle(recover(cause));
        }
      };
      // Any reply, even one after the deadline, shows that the connection is alive.
      const resolve = (reply: unknown) => {
        this.#silence.timeouts = 0;
        if (this.#trips.has(trip)) {
          end();
          try {
            settle(accept(reply as Reply));
          } catch (error) {
            refuse(error);
          }
        }
      };
      const trip: Trip = { began: performance.now(), deadline, send, resolve, reject };
      this.#enter(trip);
    });
  }

  /** Sends at once where the connection is up that the last round trip went over: nothing is to be waited for. */
  #enter(trip: Trip): void {
    const client = this.#client;
    const watch = client && ConnectionWatch.of(client);
    this.#trips.add(trip);
    this.#timer?.ref();
    this.#wakeFor(trip);
    if (client === undefined || watch === undefined || watch !== this.#watch || !watch.isUp) {
      this.#sendWhenUsable(trip).catch(trip.reject);
      return;
    }
    watch.listeners.add(this.#listener);
    this.#send(trip, client);
  }

  #send({ send, resolve, reject, deadline: { name } }: Trip, client: RedisClient): void {
    corkForTick(client);
    try {
      send(client).then(resolve, (error: unknown) => {
        if (isClientTimeout(error)) {
          this.#noteSilence(name);
        } else {
          this.#silence.timeouts = 0;
        }
        reject(error);
      });
    } catch (error) {
      reject(error);
    }
  }

  #leave(trip: Trip): void {
    this.#trips.delete(trip);
    if (this.#trips.size === 0) {
      // The timer stays for the calls to come, for which it keeps no process alive.
      this.#timer?.unref();
      this.#watch?.listeners.delete(this.#listener);
    }
  }

  /** Ends the round trips whose time is over, and those that the failure of the connection ends. */
  #check(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wakesAt = Infinity;
    for (const trip of this.#trips) {
      const failure = this.#watch?.failure(this.#patienceMs, trip.began);
      if (failure === undefined && performance.now() < trip.deadline.at) {
        this.#wakeFor(trip);
      } else {
        trip.reject(failure ?? this.#timedOut(trip.deadline));
      }
    }
  }

  /** Sets the timer for the end of a round trip, or of the time in which a broken connection may come back. */
  #wakeFor({ deadline: { at } }: Trip): void {
    const patience = this.#patienceMs - (this.#watch?.brokenFor ?? Infinity);
    const soonest = patience > 0 ? Math.min(at, performance.now() + patience + 1) : at;
    if (soonest < this.#wakesAt) {
      clearTimeout(this.#timer);
      this.#wakesAt = soonest;
      this.#timer = setTimeout(() => this.#check(), soonest - performance.now());
    }
  }

  /** The error to throw for one of ioredis or Redis. */
  explain(error: unknown, { name, writes, script }: Deadline): Error {
    return toStoreError(error, name, { writes, server: this.#client && serverOf(this.#client), script });
  }

  /** Makes all later round trips fail with `closed`. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Sends at once, but where the connection broke, or an attempt to open it has failed; then when the next attempt,
   * which begins now, has succeeded. From then on the trip is rejected as soon as the connection is known to fail.
   *
   * @throws the failure, before anything is sent, if the client makes no further attempt.
   */
  async #sendWhenUsable(trip: Trip): Promise<void> {
    const client = await this.#options.connection.client();
    this.#client = client;
    // Opening may take longer than the call has.
    if (!this.#trips.has(trip)) {
      return;
    }
    const watch = ConnectionWatch.of(client);
    if (watch !== this.#watch) {
      this.#watch?.listeners.delete(this.#listener);
      this.#watch = watch;
      this.#silence.timeouts = 0;
    }
    const known = watch.failure(this.#patienceMs);
    const isDown = known !== undefined || watch.brokenFor !== undefined;
    const isTrying = isDown && watch.triesToOpen();
    if (known !== undefined && !isTrying) {
      throw known;
    }
    watch.listeners.add(this.#listener);
    this.#wakeFor(trip);
    if (isDown) {
      // Never resolves for a call that failed meanwhile: nothing is sent for it.
      await new Promise<void>((resolve) => (trip.opened = resolve));
    }
    this.#send(trip, client);
  }

  #timedOut({ name, writes }: Deadline): unknown {
    const failure = this.#watch?.failure(0) ?? this.#watch?.refusal;
    if (failure === undefined) {
      this.#noteSilence(name);
    }
    const setting = { writes, server: this.#client && serverOf(this.#client) };
    return failure ?? timeoutError(name, this.#options.commandTimeout, setting);
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

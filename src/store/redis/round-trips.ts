import { report, type MemoryEventHandler } from "../../base/events.js";
import { closed } from "../contract/refusals.js";
import { ConnectionWatch, type Connection, corkForTick, serverOf, type RedisClient } from "./connection.js";
import { isClientTimeout, isPassing, isReply, isUnknownScript, timeoutError, toStoreError } from "./errors.js";
import type { CallName } from "./errors.js";

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

/** A call: how it is sent, and the result of its reply. */
export interface Exchange<Reply, Result> {
  readonly name: CallName;
  /** True if the call may change something. */
  readonly writes: boolean;
  readonly send: (client: RedisClient, trip: RoundTrip) => Promise<Reply>;
  readonly accept: (reply: Reply) => Result | Promise<Result>;
}

/** One try of a call, under way. */
export interface RoundTrip {
  readonly exchange: Exchange<unknown, unknown>;
  /** End of the call's time, as `performance.now()`. */
  readonly at: number;
  /** When the try began: a failure before that is none of its own. */
  readonly began: number;
  /** True if the server did not know the script by its hash. */
  readonly needsText: boolean;
  /** Milliseconds until the next try. */
  readonly pause: number;
  /** The server's last refusal for the moment, which says more than that the next try has no reply in time. */
  readonly refusal: unknown;
  readonly settle: (result: unknown) => void;
  readonly refuse: (error: unknown) => void;
  /** Called when the connection is open that the try waits for. */
  opened?: () => void;
}

const longestPause = 100;

/**
 * Makes round trips to Redis, each call of them within its time; one timer serves all that are under way.
 *
 * A round trip fails as soon as the connection cannot be opened: where that is known to be down, the next attempt of
 * the client counts. One that was open and broke is first given a fifth of the command timeout to come back. Calls that
 * the server refuses for the moment are tried again until their time is up, and a script that it does not know is sent
 * as text. Every round trip is reported as a `command` event, and a connection that lets three in a row time out as
 * `connection_stalled`.
 */
export class RoundTrips {
  readonly #options: RoundTripOptions;
  readonly #patienceMs: number;
  #closed = false;
  /** Those under way: nothing is sent for any other, and no reply of one counts. */
  readonly #trips = new Set<RoundTrip>();
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
   * Makes a call. One promise for all its tries: LangChain follows promises by hooks of Node.js, which take longer than
   * the promise itself.
   *
   * @throws StoreError
   */
  make<Reply, Result>(
    exchange: Exchange<Reply, Result>,
    at = performance.now() + this.#options.commandTimeout,
  ): Promise<Result> {
    return new Promise<Result>((settle, refuse) => {
      this.#enter({
        exchange: exchange as Exchange<unknown, unknown>,
        at,
        began: performance.now(),
        needsText: false,
        pause: 10,
        refusal: undefined,
        settle: settle as (result: unknown) => void,
        refuse,
      });
    });
  }

  /** Sends at once where the connection is up that the last round trip went over: nothing is to be waited for. */
  #enter(trip: RoundTrip): void {
    if (this.#closed) {
      const { operation, sessionId } = trip.exchange.name;
      trip.refuse(closed(operation, sessionId));
      return;
    }
    const client = this.#client;
    const watch = client && ConnectionWatch.of(client);
    this.#trips.add(trip);
    this.#timer?.ref();
    this.#wakeFor(trip);
    if (client === undefined || watch === undefined || watch !== this.#watch || !watch.isUp) {
      this.#sendWhenUsable(trip).catch((error: unknown) => this.#failed(trip, error));
      return;
    }
    watch.listeners.add(this.#listener);
    this.#send(trip, client);
  }

  #send(trip: RoundTrip, client: RedisClient): void {
    corkForTick(client);
    try {
      trip.exchange.send(client, trip).then(
        (reply) => this.#received(trip, reply),
        (error: unknown) => this.#refused(trip, error),
      );
    } catch (error) {
      this.#failed(trip, error);
    }
  }

  /** Any reply, even one after the call's time, shows that the connection is alive. */
  #received(trip: RoundTrip, reply: unknown): void {
    this.#silence.timeouts = 0;
    if (!this.#trips.has(trip)) {
      return;
    }
    this.#end(trip);
    try {
      trip.settle(trip.exchange.accept(reply));
    } catch (error) {
      trip.refuse(error);
    }
  }

  #refused(trip: RoundTrip, error: unknown): void {
    if (isClientTimeout(error)) {
      this.#noteSilence(trip.exchange.name);
    } else {
      this.#silence.timeouts = 0;
    }
    this.#failed(trip, error);
  }

  /** Tries again what the server refuses for the moment, and by its text a script that it does not know. */
  #failed(trip: RoundTrip, error: unknown): void {
    if (!this.#trips.has(trip)) {
      return;
    }
    // "Connection is closed" and the like say less than the error that closed it.
    const cause = isReply(error) ? error : (this.#watch?.failure(0) ?? error);
    if (isUnknownScript(cause) && !trip.needsText) {
      this.#end(trip);
      this.#enter({ ...trip, began: performance.now(), needsText: true });
      return;
    }
    const { exchange, pause, at, refuse } = trip;
    const { name, writes } = exchange;
    const explained = toStoreError(cause, name, { writes, server: this.#client && serverOf(this.#client) });
    this.#end(trip, explained);
    if (!isPassing(cause) || performance.now() + pause >= at) {
      refuse(explained);
      return;
    }
    const next = { ...trip, refusal: cause, pause: Math.min(2 * pause, longestPause) };
    setTimeout(() => this.#enter({ ...next, began: performance.now() }), pause);
  }

  #end(trip: RoundTrip, error?: Error): void {
    this.#trips.delete(trip);
    if (this.#trips.size === 0) {
      // The timer stays for the calls to come, for which it keeps no process alive.
      this.#timer?.unref();
      this.#watch?.listeners.delete(this.#listener);
    }
    const { onEvent } = this.#options;
    if (onEvent !== undefined) {
      const { began, exchange } = trip;
      const milliseconds = performance.now() - began;
      report(onEvent, { type: "command", ...exchange.name, milliseconds, ...(error && { error }) });
    }
  }

  /** Ends the round trips whose time is over, and those that the failure of the connection ends. */
  #check(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wakesAt = Infinity;
    for (const trip of this.#trips) {
      const failure = this.#watch?.failure(this.#patienceMs, trip.began);
      if (failure === undefined && performance.now() < trip.at) {
        this.#wakeFor(trip);
      } else {
        this.#failed(trip, failure ?? this.#timedOut(trip));
      }
    }
  }

  /** Sets the timer for the end of a round trip, or of the time in which a broken connection may come back. */
  #wakeFor({ at }: RoundTrip): void {
    const patience = this.#patienceMs - (this.#watch?.brokenFor ?? Infinity);
    const soonest = patience > 0 ? Math.min(at, performance.now() + patience + 1) : at;
    if (soonest < this.#wakesAt) {
      clearTimeout(this.#timer);
      this.#wakesAt = soonest;
      this.#timer = setTimeout(() => this.#check(), soonest - performance.now());
    }
  }

  /** Makes all later round trips fail with `closed`. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Sends at once, but where the connection broke, or an attempt to open it has failed; then when the next attempt has
   * succeeded. From then on the trip is rejected as soon as the connection is known to fail.
   *
   * @throws the failure, before anything is sent, if the client makes no further attempt.
   */
  async #sendWhenUsable(trip: RoundTrip): Promise<void> {
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
    const failure = watch.failure(this.#patienceMs);
    const isDown = failure !== undefined || watch.brokenFor !== undefined;
    if (failure !== undefined && watch.hasEnded) {
      throw failure;
    }
    watch.listeners.add(this.#listener);
    this.#wakeFor(trip);
    if (isDown) {
      // Never resolves for a call that failed meanwhile: nothing is sent for it.
      await new Promise<void>((resolve) => (trip.opened = resolve));
    }
    this.#send(trip, client);
  }

  #timedOut({ exchange: { name, writes }, refusal }: RoundTrip): unknown {
    const failure = this.#watch?.failure(0) ?? refusal;
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

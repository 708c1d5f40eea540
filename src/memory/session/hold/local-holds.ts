import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { AsyncLocalStorage } from "node:async_hooks";
import { ConfigurationError } from "../../../base/errors.js";
import { limitedText } from "../../../store/contract/session-ref.js";
import type { HistoryIdentity } from "../identity.js";
import { lazy, nonNegativeInteger, parseOptions, positiveInteger } from "../../../base/options.js";
import { toMessage } from "../../../conversation/messages/message.js";

/** Options of `memory.withTurn`: owner and label as for `memory.history`, and times in milliseconds. */
export interface WithTurnOptions extends HistoryIdentity {
  /** Maximum wait for the session's hold; 0 tries once. @default 60_000 */
  readonly waitMs?: number;
  /**
   * Expiry of the hold of a process that died or was paused, at least 100. A hold is renewed every third of it.
   * @default 10_000
   */
  readonly holdMs?: number;
  /**
   * The turn's new input: text, a message, or messages. Opens the turn, so that the function gets it as its second
   * argument: a question that the function's error refuses for good is marked. @default none: the function writes
   */
  readonly input?: string | BaseMessage | readonly BaseMessage[];
  /**
   * Idempotency key of the turn, with `input`: a retried job brings the same one.
   * @default the id of the input's last message, if it is a user message
   */
  readonly turnId?: string;
}

/** The options with their defaults, the input as messages; owner and label are checked when the history is made. */
type CheckedTurnOptions = HistoryIdentity &
  Required<HoldTimes> & { readonly input?: BaseMessage[] | undefined; readonly turnId?: string | undefined };

/** Maximum wait for a hold, and its expiry without renewal, in milliseconds. */
export type HoldTimes = Pick<WithTurnOptions, "waitMs" | "holdMs">;

/** Times of a hold for which no others are given. */
export const defaultTimes: Required<HoldTimes> = { waitMs: 60_000, holdMs: 10_000 };

/** Maximum delay of a timer. */
const maxMs = 2 ** 31 - 1;

const times = lazy(() => ({
  waitMs: z._default(nonNegativeInteger().check(z.maximum(maxMs, `must be at most ${maxMs}`)), defaultTimes.waitMs),
  holdMs: z._default(
    positiveInteger()
      .check(z.minimum(100, "must be 100 or more"))
      .check(z.maximum(maxMs, `must be at most ${maxMs}`)),
    defaultTimes.holdMs,
  ),
}));

const schema = lazy(() =>
  z.strictObject({
    owner: z.optional(z.unknown()),
    title: z.optional(z.unknown()),
    metadata: z.optional(z.unknown()),
    turnId: z.optional(limitedText("id")),
    input: z.optional(z.unknown()),
    ...times(),
  }),
);

/** The schema of the option `oneTurnAtATime`: true, false, or times. */
export const oneTurnSchema = lazy(() =>
  z.union([z.boolean(), z.strictObject(times())], "must be true, false or { waitMs, holdMs }"),
);

/**
 * Checks the arguments of `withTurn`.
 *
 * @throws ConfigurationError naming the option.
 */
export function turnOptions(run: unknown, options: WithTurnOptions = {}): CheckedTurnOptions {
  if (typeof run !== "function") {
    throw new ConfigurationError("run", "withTurn: the second argument must be a function of the history.");
  }
  const { input, ...checked } = parseOptions("withTurn", schema(), options);
  if (input === undefined && checked.turnId !== undefined) {
    throw new ConfigurationError("turnId", 'withTurn: option "turnId" needs "input", the question of the turn.');
  }
  return { ...checked, ...(input !== undefined && { input: inputOf(input) }) } as CheckedTurnOptions;
}

function inputOf(input: unknown): BaseMessage[] {
  const list = Array.isArray(input) ? (input as unknown[]) : [input];
  if (list.length === 0) {
    throw new ConfigurationError("input", 'withTurn: option "input" must hold at least one message.');
  }
  return list.map((like, index) => toMessage(like, { option: "input", list: "withTurn: input", index }));
}

/** A hold of this process. */
interface LocalHolder {
  /** The holder, which begins error messages. */
  readonly owner: string;
  /** True if the calling code is part of the holding run, and would wait for itself. */
  readonly isCaller: () => boolean;
  /** Releases the hold. Never rejects. */
  readonly release: () => Promise<void>;
}

/** A place in a queue of this process. */
export interface LinePlace {
  /** Resolves when all before it have left; undefined if it is the first. */
  readonly first: Promise<void> | undefined;
  /** Leaves the queue, also before being the first. */
  leave(): void;
}

/** Sessions that this process holds through one memory, and its queues for them. */
export class LocalHolds {
  /** How the tickets of this process begin, for others that release its holds when it is dead. */
  mark = "";
  /** The holders of each session; several, if one lost its hold and does not know it yet. */
  readonly #held = new Map<string, Set<LocalHolder>>();
  /** The end of each queue: a promise that resolves when it is empty. */
  readonly #ends = new Map<string, Promise<void>>();

  /** Registers a holder of the session; returns a function that removes it. */
  note(sessionId: string, holder: LocalHolder): () => void {
    const holders = this.#held.get(sessionId) ?? new Set();
    this.#held.set(sessionId, holders.add(holder));
    return () => {
      holders.delete(holder);
      if (holders.size === 0 && this.#held.get(sessionId) === holders) {
        this.#held.delete(sessionId);
      }
    };
  }

  /** The hold of the session in whose run the calling code is. */
  around(sessionId: string): LocalHolder | undefined {
    return [...(this.#held.get(sessionId) ?? [])].find((holder) => holder.isCaller());
  }

  /** Releases all holds, for a memory that is closed while runs are under way. */
  async releaseAll(): Promise<void> {
    await Promise.all([...this.#held.values()].flatMap((holders) => [...holders]).map(({ release }) => release()));
  }

  /** True while this process holds the session, as far as it knows. */
  has(sessionId: string): boolean {
    return this.#held.has(sessionId);
  }

  /** Joins this process's FIFO queue for a session, so that only its first waiter polls the store. */
  join(sessionId: string): LinePlace {
    const first = this.#ends.get(sessionId);
    let leave!: () => void;
    const own = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const end = first === undefined ? own : first.then(() => own);
    this.#ends.set(sessionId, end);
    void end.then(() => this.#ends.get(sessionId) === end && this.#ends.delete(sessionId));
    return { first, leave };
  }
}

/** The turns around the running code. */
const running = new AsyncLocalStorage<readonly RunningTurn[]>();

/** A turn whose work is running. */
export class RunningTurn {
  readonly #store: object;
  readonly #sessionId: string;
  #isOver = false;

  constructor(store: object, sessionId: string) {
    this.#store = store;
    this.#sessionId = sessionId;
  }

  /** Runs a function inside the turn, which its asynchronous calls can detect until it ends. */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    return running.run([...(running.getStore() ?? []), this], work);
  }

  end(): void {
    this.#isOver = true;
  }

  isOf(store: object, sessionId: string): boolean {
    return !this.#isOver && this.#store === store && this.#sessionId === sessionId;
  }
}

/** True inside an active turn of the session: a nested one would deadlock. */
export function isWithin(store: object, sessionId: string): boolean {
  return (running.getStore() ?? []).some((turn) => turn.isOf(store, sessionId));
}

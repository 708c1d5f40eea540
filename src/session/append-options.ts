import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import type { TurnOutput } from "../codec/encode-message.js";
import { lazy, nonEmptyText, nonNegativeInteger, objectWith } from "../base/options.js";
import { checkSide } from "../store/request-checks.js";
import type { SessionView } from "../store/session-reads.js";
import type { RewindRequest } from "../store/session-writes.js";
import type { SideChanges } from "../store/side-fields.js";
import type { StoredTurn } from "../store/turns.js";

/**
 * Options of an append.
 * @example
 * import type { BaseMessage } from "@langchain/core/messages";
 * import { RedisChatMessageHistory, type AppendOptions } from "langchain-redis-memory";
 *
 * class CountedHistory extends RedisChatMessageHistory {
 *   byChains = 0;
 *
 *   override async append(messages: readonly BaseMessage[], options?: AppendOptions) {
 *     const outcome = await super.append(messages, options); // options as they are
 *     this.byChains += options?.turn === undefined ? 0 : outcome.appended;
 *     return outcome;
 *   }
 * }
 */
export interface AppendOptions {
  /**
   * Idempotency key of the turn: a second append with the same id adds nothing, even with other ids and texts, for as
   * long as the session lives. Messages without an id get `<turnId>-<index>`.
   */
  readonly turnId?: string;
  /**
   * Compare-and-set: refuses the write unless the session's next message gets this position (the `next` of an earlier
   * append), with a ConflictError `position`, whose `next` is the current end of the log. A repetition of stored
   * messages is not refused. @default no check
   */
  readonly expectedNext?: number;
  /** Side data, written atomically with the messages. */
  readonly side?: SideChanges;
  /** How a chain or an agent writes its turn. A subclass that overrides `append` passes it on as it is. */
  readonly turn?: TurnWrite;
}

/** An append's part in a turn, made by a chain, an agent or a `HistoryManager`. Opaque: it is only passed on. */
export interface TurnWrite {
  /** Keeps other objects out. */
  readonly [opaque]: true;
}
declare const opaque: unique symbol;

/** Result of an append. */
export interface AppendOutcome {
  /** Number of messages stored by this append. */
  readonly appended: number;
  /** Number of messages that were stored already. */
  readonly duplicates: number;
  /** Position of the session's next message. */
  readonly next: number;
  /** True if the turn was already stored; nothing was written. */
  readonly repeated: boolean;
}

/** A write of a turn that may be one of several. */
export interface TurnSettings {
  /** Messages of the turn that the writer knows to be stored. @default 0 */
  readonly stored?: number;
  /** False to leave the turn open for a later append. @default true */
  readonly done?: boolean;
  /** The form of the turn's answer, so that a retry can return it again. */
  readonly output?: TurnOutput;
  /** The end of the log that the messages replace, such as an interrupted answer. */
  readonly cut?: RewindRequest;
  /** True if the caller tries again where others overtook the `cut`: then no event tells of it. */
  readonly triesAgain?: boolean;
  /** True to return the view with the write, and not to reduce it. */
  readonly returnView?: boolean;
  /**
   * True for the write with which a turn begins. Nothing is written of a turn that is stored, even in part: the outcome
   * has `storedTurn` then. A message whose id is stored is kept as it is, without an event.
   */
  readonly opens?: boolean;
  /** The ticket of a hold that is given back by this write, where it adds what it was given. */
  readonly giveBack?: string;
  /** False to leave the view as it is, because the writer reduces it later. @default true */
  readonly reduce?: boolean;
  /** The run that writes, for the trace of a reduction. @default the run in which the write is called */
  readonly trace?: Pick<RunnableConfig, "callbacks" | "metadata">;
  /** True to keep the stored message if its id comes again with other content, regardless of `onConflict`. */
  readonly keepStored?: boolean;
}

/** The options of an append, with the settings behind an opaque {@link TurnWrite}. */
export interface TurnAppendOptions extends Omit<AppendOptions, "turn"> {
  readonly turn?: TurnSettings;
}

/** The outcome of an append for the writer of a turn. */
export interface TurnOutcome extends AppendOutcome {
  /**
   * Why a write of a turn was not stored: `forgotten` if the stored part is gone (cleared, rewound or expired),
   * `overtaken` if another writer wrote in between.
   */
  readonly refused?: "forgotten" | "overtaken";
  /** Messages that are stored under the turn's name now, for a later write of the same turn. */
  readonly turnCount?: number;
  /** True where the write gave the hold of its `giveBack` back. */
  readonly gaveBack?: boolean;
  /** The stored part of a repeated turn. */
  readonly storedTurn?: StoredTurn;
  /** The view after the write, if `returnView` was set. */
  readonly view?: SessionView;
}

/** The object behind a {@link TurnWrite}: the settings on the way in, and the outcome on the way back. */
export class TurnTicket {
  readonly settings: TurnSettings;
  outcome: TurnOutcome | undefined;

  constructor(settings: TurnSettings) {
    this.settings = settings;
  }
}

/** Appends a part of a turn by the history's own `append`, which a subclass may override. */
export async function writeTurn(
  history: { append(messages: readonly BaseMessage[], options: AppendOptions): Promise<AppendOutcome> },
  messages: readonly BaseMessage[],
  { turn, ...options }: TurnAppendOptions & { readonly turn: TurnSettings },
): Promise<TurnOutcome> {
  const ticket = new TurnTicket(turn);
  const outcome = await history.append(messages, { ...options, turn: ticket as unknown as TurnWrite });
  // A subclass that decides to store nothing has an outcome of its own.
  return ticket.outcome ?? outcome;
}

/** The form of {@link AppendOptions}. */
export const appendSchema = lazy(() =>
  z.strictObject({
    turnId: z.optional(nonEmptyText()),
    expectedNext: z.optional(nonNegativeInteger()),
    side: z.optional(objectWith<SideChanges>([], "an object with set, remove or bound")),
    turn: z.optional(
      z.custom<TurnTicket>((value) => value instanceof TurnTicket, "is made by chains and agents; pass it on as it is"),
    ),
  }),
);

/**
 * A copy of side changes, because the caller may change them while the append waits.
 *
 * @throws ConfigurationError naming the part that is wrong.
 */
export function copySide(side: SideChanges): SideChanges {
  checkSide(side);
  const { set, remove, bound } = side;
  return {
    ...(set && { set: { ...set } }),
    ...(remove && { remove: [...remove] }),
    ...(bound && { bound: { ...bound } }),
  };
}

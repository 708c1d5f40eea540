import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import type { TurnOutput } from "../../store/codec/encode-message.js";
import { anyText, lazy, nonNegativeInteger, objectOf, parseOptions, type SchemaOutput } from "../../base/options.js";
import { isWithin, limitedText, mostBytes } from "../../store/contract/session-ref.js";
import type { SessionView } from "../../store/contract/session-reads.js";
import type { RewindRequest } from "../../store/contract/session-writes.js";
import type { SideChanges } from "../../store/contract/side-fields.js";
import type { StoredTurn } from "../../store/contract/turns.js";

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
  /** Settings of a chain's or agent's turn. A subclass that overrides `append` passes them on unchanged. */
  readonly turn?: TurnWrite;
}

/** Opaque settings of a turn's write, made by a chain, an agent or a `HistoryManager`; pass them on unchanged. */
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

/** Settings of one of a turn's writes. */
export interface TurnSettings {
  /** Messages of the turn that the writer knows to be stored. @default 0 */
  readonly stored?: number;
  /** False to leave the turn open for a later append. @default true */
  readonly done?: boolean;
  /** The form of the turn's answer, so that a retry can return it again. */
  readonly output?: TurnOutput;
  /** The end of the log that the messages replace, such as an interrupted answer. */
  readonly cut?: RewindRequest;
  /** True if the caller retries by itself when others overtook the `cut`, so that no event is raised. */
  readonly triesAgain?: boolean;
  /** True to return the view with the write, and not to reduce it. */
  readonly returnView?: boolean;
  /**
   * True for the first write of a turn. If any part of the turn is stored, nothing is written and the outcome has
   * `storedTurn`. A message whose id is stored keeps its stored content, without an event.
   */
  readonly opens?: boolean;
  /** Ticket of the hold that this write releases, if it adds its messages. */
  readonly release?: string;
  /** False to skip the reduction, because the writer reduces the view later. @default true */
  readonly reduce?: boolean;
  /** The writing run, which is the parent of a reduction in traces. @default the calling run */
  readonly trace?: Pick<RunnableConfig, "callbacks" | "metadata">;
  /** True to refuse a message whose id is stored with other content, regardless of `onConflict`. */
  readonly refusesKnown?: boolean;
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
  /** Number of messages now stored under the turn's name, for a later write of the same turn. */
  readonly turnCount?: number;
  /** True if the write released the hold of its `release`. */
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

/** A history as the writer of a turn sees it. */
export interface AppendHistory {
  append(messages: readonly BaseMessage[], options: AppendOptions): Promise<AppendOutcome>;
}

/** Appends a part of a turn by the history's own `append`, which a subclass may override. */
export async function writeTurn(
  history: AppendHistory,
  messages: readonly BaseMessage[],
  options: TurnAppendOptions & { readonly turn: TurnSettings },
): Promise<TurnOutcome> {
  const ticket = new TurnTicket(options.turn);
  const outcome = await history.append(messages, { ...options, turn: ticket as unknown as TurnWrite });
  // A subclass that decides to store nothing has an outcome of its own.
  return ticket.outcome ?? outcome;
}

/** Checks the options of an append. @throws ConfigurationError naming the option */
export function checkedAppend(options: AppendOptions): SchemaOutput<typeof appendSchema> {
  return namesTurnOnly(options) ? options : parseOptions("append", appendSchema(), options);
}

/** True for a turn's name and settings, as {@link appendSchema} accepts them: every turn brings them. */
function namesTurnOnly(options: unknown): options is SchemaOutput<typeof appendSchema> {
  if (typeof options !== "object" || options === null || Object.getPrototypeOf(options) !== Object.prototype) {
    return false;
  }
  for (const name in options) {
    const value = (options as Record<string, unknown>)[name];
    const isName = name === "turnId" && typeof value === "string" && value !== "" && isWithin(value, mostBytes.id);
    if (!isName && !(name === "turn" && value instanceof TurnTicket)) {
      return false;
    }
  }
  return true;
}

/** The form of {@link AppendOptions}. */
const appendSchema = lazy(() =>
  z.strictObject({
    turnId: z.optional(limitedText("id")),
    expectedNext: z.optional(nonNegativeInteger()),
    // Parsed, and so a copy: the caller may change it while the append waits.
    side: z.optional(
      objectOf(
        {
          set: z.optional(z.record(anyText(), anyText(), "must be an object whose values are strings")),
          remove: z.optional(z.array(anyText(), "must be an array of strings")),
          bound: z.optional(
            objectOf({ prefix: anyText(), keep: nonNegativeInteger() }, "an object with prefix and keep"),
          ),
        },
        "an object with set, remove or bound",
      ),
    ),
    turn: z.optional(
      z.custom<TurnTicket>((value) => value instanceof TurnTicket, "is made by chains and agents; pass it on as it is"),
    ),
  }),
);

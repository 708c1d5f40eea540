import * as z from "zod/mini";
import { ConfigurationError } from "../base/errors.js";
import { type MemoryEventHandler } from "../base/events.js";
import { loadedOnce } from "../base/loaded-once.js";
import {
  lazy,
  nonNegativeInteger,
  objectOf,
  objectWith,
  parseOptions,
  positiveInteger,
  timeToLive,
  type TTL,
} from "../base/options.js";
import type { BuiltInProfile } from "../structure/profiles/built-in-profiles.js";
import type { StructureProfile } from "../structure/profiles/profile.js";
import { resolveProfileChoice } from "../structure/profiles/resolve-profile.js";
import { asReducer, type ReducerLike } from "../reducers/as-reducer.js";
import type { ChatHistoryReducer } from "../reducers/chat-history-reducer.js";
import type { ContextWindow } from "../reducers/window/context-window.js";
import type { ReduceWhen } from "../reducers/reduce-when.js";
import { openStore, storeFields, type StoreSettings, type StoreSource } from "./open-store.js";
import type { ExactlyOne } from "../redis/store-options.js";
import { requireGroup } from "../store/groups.js";
import type { DiscardedIds } from "../store/session-writes.js";
import { refreshedOnRead } from "../store/refreshing-store.js";
import type { SessionStore } from "../store/session-store.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { LocalHolds } from "./hold/local-holds.js";
import { Recounts } from "./recounts.js";
import { ServerClock } from "./append-turn.js";
import { StoredForms, type BeforeStore } from "./stored-forms.js";

/** Options of {@link RedisChatMemory} besides the store itself. */
export interface MemorySettings extends StoreSettings {
  /**
   * Time to live of a session after its last write, in seconds, at least 1. With `refreshOnRead`, reads also extend the
   * expiry to `seconds` from now, asynchronously, at most once a second per session and process; a session without an
   * expiry gets none.
   * @default no expiry
   */
  readonly sessionTTL?: TTL;
  /**
   * Reducer of the view: a `ChatHistoryReducer`, or any Runnable from messages to messages such as
   * `trimMessages(options)`; `"none"` for a view that nothing reduces.
   * @default `contextWindow()` for the requests of chains and agents, which reduces what exceeds the model's window
   */
  readonly reducer?: ReducerLike | "none";
  /**
   * When the reducer runs by itself, after a write that exceeds its limit. `between-turns`: not while a turn goes on,
   * behind tool calls and their results, unless the hard limit is exceeded: the reducer's tokens, or twice its number
   * of messages. So a turn keeps the beginning of its prompt, and its thoughts. `background`: the same, and the write
   * does not wait for it (see `drain`). `always`: wherever the limit is exceeded. `never`: only by `reduceView()`.
   * @default "between-turns"
   */
  readonly reduceWhen?: "between-turns" | "background" | "always" | "never";
  /**
   * Retention of messages that leave the view: `keep` leaves them in the transcript; `discard` deletes them from Redis,
   * except their ids, so that late retries stay idempotent: the newest `ids` of a session (10,000; about 110 bytes
   * each), for `seconds` (86,400).
   * @default "keep"
   */
  readonly retention?:
    | "keep"
    | "discard"
    | {
        /** Discards, and sets how long the ids stay. */
        readonly discard: {
          /** Ids of a session that stay. @default 10_000 */
          readonly ids?: number;
          /** Seconds for which an id stays. @default 86_400 */
          readonly seconds?: number;
        };
      };
  /** Counter that counts each message once, at its write; reducers reuse the counts. @default the reducer's counter */
  readonly tokenCounter?: TokenCounter;
  /**
   * Policy for a message whose id is stored with other content: refuse the write (`error`), or keep the first and
   * report it to `onEvent`.
   * @default "error"
   */
  readonly onConflict?: "error" | "keep";
  /**
   * Policy for writes to a session that lost a part in Redis: fail, or rebuild it from the log and continue.
   * @default "error"
   */
  readonly onDamage?: "error" | "rebuild";
  /** Whether reads throw on an unreadable record instead of skipping it with an event. @default false */
  readonly strict?: boolean;
  /**
   * Sums up the `usage_metadata` of stored AI messages for each session and model, in the write itself;
   * `memory.sessions` shows the sums. @default false
   */
  readonly trackUsage?: boolean;
  /**
   * Profile of the structure rules. Model requests are repaired for it; stored messages are not changed. `"auto"`: that
   * of the model of each request, and the neutral form (event `profile_guessed`) for one that is not known.
   * @default "auto"
   */
  readonly profile?: BuiltInProfile | StructureProfile | "auto";
  /**
   * Hook that maps each message, also a summary, to the message to store, for redaction of card numbers, for example.
   * The current run keeps the original message; later turns see the stored one. If it throws, nothing of the turn is
   * stored (RecordError `refused`). @default none
   */
  readonly beforeStore?: BeforeStore;
}

/**
 * Options of {@link RedisChatMemory}, and, with a `sessionId`, of {@link RedisChatMessageHistory}: exactly one of
 * `client`, `url`, `config` and `store`, and settings.
 */
export type RedisChatMemoryOptions = MemorySettings & ExactlyOne<StoreSource>;

/** The reducer that fits each request into its model's window. */
export interface WindowSource {
  /** Loads the reducer with the first call. */
  readonly load: () => ContextWindow | Promise<ContextWindow>;
  /** True where something else than the model tells a window: the reducer's options, or a refusal. */
  isTold: boolean;
}

/** State shared by all histories of a memory. */
export interface MemoryContext {
  /** The store with this memory's wrappers. */
  readonly store: SessionStore;
  /** The bare store, for reads in batch operations. */
  readonly source: SessionStore;
  /** The clock of the store's server. */
  readonly clock: ServerClock;
  /** The holds of this process through this memory. */
  readonly holds: LocalHolds;
  readonly ownsStore: boolean;
  readonly ttlMs: number | undefined;
  readonly reducer: ChatHistoryReducer | undefined;
  /** For the doors that call models; undefined where another reducer, or none, is wanted. */
  readonly window: WindowSource | undefined;
  readonly reduceWhen: ReduceWhen;
  /** Limits for remembered ids of discarded messages; undefined with retention `keep`. */
  readonly discard: DiscardedIds | undefined;
  readonly tokenCounter: TokenCounter | undefined;
  readonly onConflict: "error" | "keep";
  readonly onDamage: "error" | "rebuild";
  readonly strict: boolean;
  readonly trackUsage: boolean;
  readonly profile: StructureProfile | "auto";
  readonly onEvent: MemoryEventHandler | undefined;
  /** Cache of counts that records lack; undefined without a counter. */
  readonly recounts: Recounts | undefined;
  /** Background reductions under way. */
  readonly pending: Set<Promise<unknown>>;
  /** Forms made by `beforeStore`; undefined without that option. */
  readonly forms: StoredForms | undefined;
  /** Called when the memory is closed, before all else; never rejects. */
  readonly onClose: Set<() => Promise<void>>;
}

/** The limits for remembered ids of the option `retention`; undefined for `keep`. */
const retention = lazy(() =>
  z.pipe(
    z.union(
      [
        z.enum(["keep", "discard"]),
        z.strictObject({
          discard: objectOf(
            { ids: z.optional(nonNegativeInteger()), seconds: z.optional(positiveInteger()) },
            "an object with ids and seconds",
          ),
        }),
      ],
      'must be "keep", "discard" or { discard: { ids, seconds } }',
    ),
    z.transform((given): DiscardedIds | undefined => {
      if (given === "keep") {
        return undefined;
      }
      const { ids = 10_000, seconds = 86_400 } = given === "discard" ? {} : given.discard;
      return { count: ids, seconds };
    }),
  ),
);

const memoryFields = lazy(() => ({
  ...storeFields(),
  sessionTTL: z.optional(timeToLive()),
  reducer: z.optional(
    z.custom<ReducerLike | "none">(
      (value) =>
        value === "none" ||
        typeof value === "function" ||
        typeof (value as { invoke?: unknown } | null)?.invoke === "function",
      'must be a ChatHistoryReducer, a Runnable or function from messages to messages, or "none"',
    ),
  ),
  reduceWhen: z._default(
    z.enum(
      ["between-turns", "background", "always", "never"],
      'must be "between-turns", "background", "always" or "never"',
    ),
    "between-turns",
  ),
  retention: z.optional(retention()),
  tokenCounter: z.optional(objectWith<TokenCounter>(["countMessage", "countText"], "a TokenCounter")),
  onConflict: z._default(z.enum(["error", "keep"], 'must be "error" or "keep"'), "error"),
  onDamage: z._default(z.enum(["error", "rebuild"], 'must be "error" or "rebuild"'), "error"),
  strict: z._default(z.boolean("must be true or false"), false),
  trackUsage: z._default(z.boolean("must be true or false"), false),
  profile: z.optional(z.custom<BuiltInProfile | StructureProfile | "auto">()),
  beforeStore: z.optional(z.custom<BeforeStore>((value) => typeof value === "function", "must be a function")),
}));

/** Option schemas by owner of a context. */
const schemas = {
  RedisChatMemory: lazy(() => z.strictObject(memoryFields())),
  RedisChatMessageHistory: lazy(() => z.strictObject({ ...memoryFields(), sessionId: z.unknown() })),
};

/**
 * Validates the options, and opens a store unless one is given.
 *
 * @throws ConfigurationError naming the option.
 */
export function createMemoryContext(owner: keyof typeof schemas, options: RedisChatMemoryOptions): MemoryContext {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError(
      "options",
      `${owner}: options must be an object with one of client, url, config and store.`,
    );
  }
  const checked = parseOptions(owner, schemas[owner](), options);
  const { sessionTTL, reducer, reduceWhen, onConflict, onDamage, strict, trackUsage, onEvent } = checked;
  const pending = new Set<Promise<unknown>>();
  const opened = openStore(owner, options);
  const { ownsStore } = opened;
  const store = sessionTTL?.refreshOnRead
    ? refreshedOnRead(owner, opened.store, { ttlMs: sessionTTL.ms, pending })
    : opened.store;
  if (onDamage === "rebuild") {
    requireGroup(`${owner}: onDamage "rebuild"`, store, "edits");
  }
  if (trackUsage) {
    requireGroup(`${owner}: trackUsage`, store, "lists");
  }
  const resolved = reducer === undefined || reducer === "none" ? undefined : asReducer(reducer);
  const tokenCounter = checked.tokenCounter ?? resolved?.tokenCounter;
  return {
    ...{ store, ownsStore, reduceWhen, onConflict, onDamage, strict, trackUsage, onEvent },
    source: opened.store,
    clock: new ServerClock(),
    holds: new LocalHolds(),
    ttlMs: sessionTTL?.ms,
    discard: checked.retention,
    reducer: resolved,
    window: reduceWhen === "never" || reducer === "none" ? undefined : windowSource(resolved),
    profile: resolveProfileChoice(owner, checked.profile === undefined ? "auto" : checked.profile),
    tokenCounter,
    recounts: tokenCounter && new Recounts(tokenCounter.id),
    pending,
    forms: checked.beforeStore && new StoredForms(checked.beforeStore),
    onClose: new Set(),
  };
}

/** The given reducer, if it knows windows; where none is given, one with default options. */
function windowSource(reducer: ChatHistoryReducer | undefined): WindowSource | undefined {
  if (reducer === undefined) {
    const load = async () => (await import("../reducers/window/default-window.js")).defaultWindow();
    return { load: loadedOnce(load), isTold: false };
  }
  return isWindow(reducer) ? { load: () => reducer, isTold: reducer.isTold } : undefined;
}

/** By its method: it may come from another copy of this package. */
function isWindow(reducer: ChatHistoryReducer | undefined): reducer is ContextWindow {
  return typeof (reducer as Partial<ContextWindow> | undefined)?.measure === "function";
}

/** Resolves when no background reduction is under way, and lists show all writes of this process. */
export async function drainContext(context: MemoryContext): Promise<void> {
  // Keeps the process alive: the awaited work may depend on unref'd timers.
  const awake = setInterval(() => undefined, 60_000);
  try {
    while (context.pending.size > 0) {
      await Promise.all(context.pending);
    }
  } finally {
    clearInterval(awake);
  }
  await context.store.lists?.flush();
}

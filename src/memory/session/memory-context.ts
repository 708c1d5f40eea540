import * as z from "zod/mini";
import { BoundedMap, loadedOnce } from "../../base/bounds.js";
import { ConfigurationError } from "../../base/errors.js";
import type { MemoryEventHandler } from "../../base/events.js";
import { anyFunction, lazy, nonEmptyText, objectOf, objectWith, parseOptions, timeToLive } from "../../base/options.js";
import type { TTL } from "../../base/options.js";
import type { BuiltInProfile } from "../../conversation/structure/profiles/built-in-profiles.js";
import { checkProfile, type ProfileChoice } from "../../conversation/structure/profiles/check-profile.js";
import type { StructureProfile } from "../../conversation/structure/profiles/profile.js";
import { asReducer, type ReducerLike } from "../../conversation/reducers/as-reducer.js";
import type { ChatHistoryReducer } from "../../conversation/reducers/chat-history-reducer.js";
import type { ContextWindow } from "../../conversation/reducers/window/context-window.js";
import type { SummaryModel } from "../../conversation/reducers/summary/summarizer.js";
import type { ReduceWhen } from "../../conversation/reducers/reduce-when.js";
import { StoredForms } from "./stored-forms.js";
import { openStore, storeFields, type StoreSettings, type StoreSource, refreshedOnRead } from "./open-store.js";
import type { BeforeStore } from "./stored-forms.js";
import type { ExactlyOne } from "../../store/redis/connection-options.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { counterField, knownCount, rememberTokens } from "../../conversation/tokens/counted-messages.js";
import type { TokenCounter } from "../../conversation/tokens/counted-messages.js";
import type { SessionRef } from "../../store/contract/session-ref.js";
import { LocalHolds } from "./hold/local-holds.js";
import type { DecodedView } from "./view.js";

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
   * except their ids (76 bytes each), so that late retries stay idempotent for as long as the session lives.
   * @default "keep"
   */
  readonly retention?: "keep" | "discard";
  /** Counter that counts each message once, at its write; reducers reuse the counts. @default the reducer's counter */
  readonly tokenCounter?: TokenCounter;
  /**
   * Policy for a message whose id is stored with other content: refuse the write (`error`), or keep the first and
   * report it to `onEvent`.
   * @default "error"
   */
  readonly onConflict?: "error" | "keep";
  /**
   * Policy for damage: whether a write to a session that lost a part in Redis fails, or rebuilds it from the log and
   * continues (`session`, also as the whole option), and whether a read skips a record that it cannot read with an
   * event, or throws (`record`).
   * @default { session: "error", record: "skip" }
   */
  readonly onDamage?:
    | "error"
    | "rebuild"
    | {
        /** A session that lost a part. @default "error" */
        readonly session?: "error" | "rebuild";
        /** A record that cannot be read. @default "skip" */
        readonly record?: "skip" | "error";
      };
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
  /**
   * Gives a session without a title one after its first answer, in the background, once in each process: of two titles
   * the one that is there stays. The model sees the stored forms of the first 20 messages. A failure is an event
   * `title_failed`, and the next answer tries again, up to the third round; `titled` reports its usage.
   * @default none
   */
  readonly titles?: {
    /** A chat model, or another Runnable from messages to text or a message; called for at most 30 seconds. */
    readonly model: SummaryModel;
    /** Instructions for the model. @default a title of at most six words in the user's language */
    readonly prompt?: string;
  };
  /**
   * Says which namespaces of long-term memory (`RedisStore`) hold an owner's items, with those below them, so that
   * `memory.sessions.deleteOwner` and `exportOwner` take them.
   * @default items are not asked
   */
  readonly ownerNamespaces?: (owner: string) => readonly (readonly string[])[];
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
  /** The holds of this process through this memory. */
  readonly holds: LocalHolds;
  readonly ownsStore: boolean;
  readonly ttlMs: number | undefined;
  readonly reducer: ChatHistoryReducer | undefined;
  /** For the doors that call models; undefined where another reducer, or none, is wanted. */
  readonly window: WindowSource | undefined;
  readonly reduceWhen: ReduceWhen;
  /** True with retention `discard`. */
  readonly discard: boolean;
  readonly tokenCounter: TokenCounter | undefined;
  readonly onConflict: "error" | "keep";
  readonly onDamage: "error" | "rebuild";
  readonly strict: boolean;
  readonly trackUsage: boolean;
  readonly titles: MemorySettings["titles"] | undefined;
  readonly ownerNamespaces: MemorySettings["ownerNamespaces"] | undefined;
  /** Sessions that have a title, or get none. */
  readonly titled: BoundedMap<string, true>;
  readonly profile: ProfileChoice;
  readonly onEvent: MemoryEventHandler | undefined;
  /** Cache of counts that records lack; undefined without a counter. */
  readonly recounts: Recounts | undefined;
  /** Work under way that nobody waits for, with the session that it is for. */
  readonly pending: Map<Promise<unknown>, string>;
  /** Forms made by `beforeStore`; undefined without that option. */
  readonly forms: StoredForms | undefined;
  /** Called when the memory is closed, before all else; never rejects. */
  readonly onClose: Set<() => Promise<void>>;
}

/** A session of a memory: the context of every operation on one session. */
export interface SessionOfMemory {
  readonly sessionId: string;
  /** The session's reference for its history. Evaluated at each call: `clear` changes the hold in it. */
  readonly ref: SessionRef;
  /** The reference for the commit of a reduction, which may outlive the hold. */
  readonly reductionRef: SessionRef;
  readonly context: MemoryContext;
}

/** Policies of the option `onDamage` for sessions and for records. */
const damagePolicy = lazy(() =>
  z.pipe(
    z.union(
      [
        z.enum(["error", "rebuild"]),
        z.strictObject({
          session: z.optional(z.enum(["error", "rebuild"], 'must be "error" or "rebuild"')),
          record: z.optional(z.enum(["skip", "error"], 'must be "skip" or "error"')),
        }),
      ],
      'must be "error", "rebuild" or { session, record }',
    ),
    z.transform((option): Pick<MemoryContext, "onDamage" | "strict"> => {
      const { session = "error", record = "skip" } = typeof option === "string" ? { session: option } : option;
      return { onDamage: session, strict: record === "error" };
    }),
  ),
);

const titleModel = lazy(() =>
  objectOf(
    {
      model: objectWith<SummaryModel>(["invoke"], "a chat model or another Runnable"),
      prompt: z.optional(nonEmptyText()),
    },
    "an object with model and prompt",
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
      'must be a reducer, a Runnable or function of messages, or "none"',
    ),
  ),
  reduceWhen: z._default(
    z.enum(
      ["between-turns", "background", "always", "never"],
      'must be "between-turns", "background", "always" or "never"',
    ),
    "between-turns",
  ),
  retention: z.optional(z.enum(["keep", "discard"], 'must be "keep" or "discard"')),
  tokenCounter: counterField(),
  onConflict: z._default(z.enum(["error", "keep"], 'must be "error" or "keep"'), "error"),
  onDamage: z.prefault(damagePolicy(), "error"),
  trackUsage: z._default(z.boolean("must be true or false"), false),
  profile: z.optional(z.custom<ProfileChoice>()),
  beforeStore: z.optional(z.custom<BeforeStore>((value) => typeof value === "function", "must be a function")),
  titles: z.optional(titleModel()),
  ownerNamespaces: z.optional(anyFunction<NonNullable<MemorySettings["ownerNamespaces"]>>()),
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
  const { sessionTTL, reducer, reduceWhen, onConflict, trackUsage, onEvent, titles } = checked;
  const { profile = "auto", ownerNamespaces } = checked;
  const { onDamage, strict } = checked.onDamage;
  const pending = new Map<Promise<unknown>, string>();
  const opened = openStore(owner, options);
  const { ownsStore } = opened;
  const store = sessionTTL?.refreshOnRead
    ? refreshedOnRead(opened.store, { ttlMs: sessionTTL.ms, pending })
    : opened.store;
  const resolved = reducer === undefined || reducer === "none" ? undefined : asReducer(reducer);
  const tokenCounter = checked.tokenCounter ?? resolved?.tokenCounter;
  return {
    ...{ store, ownsStore, reduceWhen, onConflict, onDamage, strict, trackUsage, onEvent },
    ownerNamespaces,
    titles: titles as MemorySettings["titles"],
    titled: new BoundedMap(10_000),
    source: opened.store,
    holds: new LocalHolds(),
    ttlMs: sessionTTL?.ms,
    discard: checked.retention === "discard",
    reducer: resolved,
    window: reduceWhen === "never" || reducer === "none" ? undefined : windowSource(resolved),
    profile: profile === "auto" ? profile : checkProfile(owner, profile),
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
    const load = async () => (await import("../../conversation/reducers/window/default-window.js")).defaultWindow();
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
      await Promise.all(context.pending.keys());
    }
  } finally {
    clearInterval(awake);
  }
  await context.store.lists.flush();
}

const maxCounts = 10_000;

/**
 * Cache of token counts for stored messages that were written without the current counter. Each read makes new message
 * objects, so the cache is keyed by position, and a process counts such a message once. Bounded: the oldest counts are
 * evicted.
 */
class Recounts {
  readonly #counts = new BoundedMap<string, number>(maxCounts);
  readonly #counterId: string;

  constructor(counterId: string) {
    this.#counterId = counterId;
  }

  /** Assigns the cached counts to the view's messages; the returned function caches the counts made since. */
  apply(sessionId: string, { stored, entries }: DecodedView): () => Promise<void> {
    const made: (() => Promise<void>)[] = [];
    for (const { message, position } of entries) {
      if (position === undefined || knownCount(message, this.#counterId) !== undefined) {
        continue;
      }
      const key = `${stored.epoch} ${position} ${sessionId}`;
      const count = this.#counts.get(key);
      if (count !== undefined) {
        rememberTokens(message, this.#counterId, count);
        continue;
      }
      made.push(async () => {
        const tokens = await knownCount(message, this.#counterId);
        if (tokens !== undefined) {
          this.#counts.set(key, tokens);
        }
      });
    }
    return async () => {
      for (const note of made) {
        await note();
      }
    };
  }
}

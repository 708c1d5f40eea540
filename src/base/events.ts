import type { BaseMessage } from "@langchain/core/messages";

/** The size of a list of messages. */
export interface ViewSize {
  /** How many messages they are. */
  readonly messages: number;
  /** Their tokens, `perRequest` included; left out where nobody counts them. */
  readonly tokens?: number;
}

/**
 * Sum of a model's token usage over stored answers.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", trackUsage: true });
 * const session = await memory.sessions.get("chat-7");
 * for (const [model, { input_tokens, output_tokens }] of Object.entries(session?.usage ?? {})) {
 *   console.log(`${model}: ${input_tokens} tokens read, ${output_tokens} written`);
 * }
 */
export interface UsageSum {
  /** Tokens of the prompts. */
  readonly input_tokens: number;
  /** Tokens of the answers. */
  readonly output_tokens: number;
  /** Total, as the provider counts it. */
  readonly total_tokens: number;
}

/**
 * Events for logs and metrics, distinguished by `type`. They hold session ids, positions and message ids, never message
 * text. Errors thrown by the handler are ignored.
 */
export type MemoryEvent = {
  /**
   * The session that it is about: of calls in a row that of the last one, of an event per model that of its first
   * request. `""` for a call that concerns no single session; for a list that another package wrote, its Redis key.
   */
  readonly sessionId: string;
} & (
  | {
      /** One round trip to Redis was made. */
      readonly type: "command";
      /** The store's method, such as `append`. */
      readonly operation: string;
      /** Duration in milliseconds, including the wait for a connection. */
      readonly milliseconds: number;
      /** Set if it failed. */
      readonly error?: Error;
    }
  | {
      /**
       * Three calls in a row timed out on one open connection; a connection that the store opened is replaced, one of
       * the application's needs `socketTimeout`. Across a `Cluster` its connections count as one.
       */
      readonly type: "connection_stalled";
      /** The store's method that timed out last, such as `append`. */
      readonly operation: string;
      /** How many calls in a row timed out: 3. */
      readonly timeouts: number;
    }
  | {
      /** A stored record could not be read and was omitted from the result, or was kept by a rebuild. */
      readonly type: "record_skipped";
      /** Position in the log; undefined for a record outside the log. */
      readonly position: number | undefined;
      /** Why it could not be read: a `RecordError`; in a rebuild also an `EncryptionError`, with which reads fail. */
      readonly error: Error;
    }
  | {
      /** A batch operation skipped a session, a thread, or the items of long-term memory. */
      readonly type: "session_skipped";
      /** Kind of the skipped data: `thread`, or `item` of long-term memory. @default a session */
      readonly kind?: string;
      /** The batch operation: `reencrypt`, `reindex` or `exportOwner`. */
      readonly operation: string;
      /** Why: a `MemoryError`, such as an `EncryptionError` `unknown_key`. */
      readonly error: Error;
    }
  | {
      /** A part of the session is missing in Redis; the result holds the rest. */
      readonly type: "damaged";
      /** The store's method that noticed it, such as `readView`. */
      readonly operation: string;
    }
  | {
      /** A message id was written again with other content; the first content was kept. */
      readonly type: "conflict_kept";
      /** The id that was written twice. */
      readonly messageId: string;
    }
  | {
      /** A model gave an answer the id of another message; it was stored under an id of its own. */
      readonly type: "answer_renamed";
      /** The id that is stored already. */
      readonly messageId: string;
      /** The answer's id in the session. */
      readonly storedAs: string;
    }
  | {
      /** An orphan tool result was omitted from the view. */
      readonly type: "tool_result_hidden";
      /** The id of the tool message, if it has one. */
      readonly messageId: string | undefined;
      /** The id of the call that it answers. */
      readonly toolCallId: string;
    }
  | {
      /** A reduction was stored. */
      readonly type: "reduced";
      /** The view's size before the reduction. */
      readonly before: ViewSize;
      /** The view's size after the reduction. */
      readonly after: ViewSize;
      /** Tokens by which the view still exceeds the reducer's maximum; 0 if within it. */
      readonly overBudgetBy: number;
      /**
       * Returns copies of the messages that left the view, oldest first, for an index or a store of facts. One instance
       * reports them, once, behind the commit; not at all if its process dies before it does.
       */
      readonly left: () => readonly BaseMessage[];
    }
  | {
      /** A turn waits, because another turn holds the session; reported once per turn. */
      readonly type: "turn_waits";
      /** True if the holder is a turn of this process. */
      readonly isHeldHere: boolean;
    }
  | {
      /** An already stored turn was sent again; nothing was written. */
      readonly type: "turn_repeated";
      /** The turn's id, where the caller gave one. */
      readonly turnId: string | undefined;
    }
  | {
      /** A part of a turn was not stored. */
      readonly type: "turn_not_stored";
      /** The turn's id, where the caller gave one. */
      readonly turnId: string | undefined;
      /** Its stored part is gone, another writer wrote in between, or the write failed. */
      readonly reason: "forgotten" | "overtaken" | "failed";
      /** The error, with the reason `failed`. */
      readonly error?: unknown;
    }
  | {
      /** A reduction was not stored, because another writer changed the view first. */
      readonly type: "reduction_stale";
    }
  | {
      /** A reduction failed; the session is as it was. */
      readonly type: "reduction_failed";
      /** The reducer's or the store's error. */
      readonly error: unknown;
    }
  | {
      /** A session got its title from the model of the option `titles`. */
      readonly type: "titled";
      /** Tokens of the call, where the model says them. */
      readonly usage?: UsageSum;
    }
  | {
      /** No title could be made; the session is as it was. */
      readonly type: "title_failed";
      /** The model's or the store's error. */
      readonly error: unknown;
    }
  | {
      /** Messages were changed on their way to a model; stored messages stay as they are. */
      readonly type: "repaired";
      /** The violated structure rules, such as `S07`, each once. */
      readonly rules: readonly string[];
    }
  | {
      /** A model's adapter was not known, with the profile `auto`: it gets the neutral form. Once per class. */
      readonly type: "profile_guessed";
      /** The model's class, or `several models` where models of several adapters may answer. */
      readonly className: string;
    }
  | {
      /** The size of a request is known, and what it may take; for each call of a model whose window is known. */
      readonly type: "context_usage";
      /** The model's name; undefined where it is not known. */
      readonly model: string | undefined;
      /** Tokens of the whole request: system prompt, tools, view and input. */
      readonly tokens: number;
      /** Tokens of the model's window. */
      readonly window: number;
      /** Tokens that a request may take: the window without room for the answer and a margin. */
      readonly room: number;
      /** `provider`: its count of an earlier request is the base. `estimate`: all is estimated. */
      readonly source: "provider" | "estimate";
    }
  | {
      /** A provider refused a request as too long; the view was cut and the request tried again once. */
      readonly type: "context_overflow";
      /** Tokens of the window, where the provider named them. */
      readonly window?: number;
      /** Tokens of the request, where the provider named them. */
      readonly tokens?: number;
      /** True if the request was tried again with a smaller view; false if nothing could leave it. */
      readonly retried: boolean;
    }
  | {
      /** The window of a model is not known, so that nothing is cut for it; reported once per model. */
      readonly type: "window_unknown";
      /** The model's name, else its class. */
      readonly model: string;
    }
  | {
      /** A request went out without a compaction that its model cannot read; reported once per change. */
      readonly type: "compaction_dropped";
      /** The answer that holds the compaction. */
      readonly messageId: string | undefined;
      /** The provider that compacted. */
      readonly provider: "anthropic" | "openai";
      /** The part of the request that took its place; `nothing` where no session is at hand. */
      readonly became: "summary" | "transcript" | "nothing";
    }
  | {
      /** Thoughts that a model had bound to another prefix were left out of a request; reported once per change. */
      readonly type: "thinking_dropped";
      /** The change in front of the first of them; `unstamped` if it was not made through this package. */
      readonly cause: "system" | "tools" | "messages" | "unstamped";
      /** Index of the first message that lost a thought, in the request. */
      readonly firstAt: number;
      /** Number of thoughts that went out. */
      readonly sent: number;
      /** Number of thoughts that were left out. */
      readonly dropped: number;
    }
);

/** Receives every {@link MemoryEvent}; called synchronously, so keep it short. */
export type MemoryEventHandler = (event: MemoryEvent) => void;

/** Passes the event to the handler, if there is one. Its errors and rejections are ignored. */
export function report(handler: MemoryEventHandler | undefined, event: MemoryEvent): void {
  try {
    // TypeScript takes an async function too; without a handler, its rejection would end the process.
    const result: unknown = handler?.(event);
    if (result instanceof Promise) {
      result.catch(() => undefined);
    }
  } catch {
    // A failing observer must not fail the call that it observes.
  }
}

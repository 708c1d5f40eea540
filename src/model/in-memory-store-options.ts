import * as z from "zod/mini";
import type { MemoryEventHandler } from "../base/events.js";
import { anyFunction, lazy, positiveInteger } from "../base/options.js";
import { defaultMaxAppendBytes, defaultMaxMessageBytes } from "../store/request-checks.js";

/** Options of `InMemorySessionStore`. */
export interface InMemorySessionStoreOptions {
  /** Largest record in bytes of UTF-8. @default 1_000_000 */
  readonly maxMessageBytes?: number;
  /** Largest append in bytes of UTF-8, side fields included. @default 10_000_000 */
  readonly maxAppendBytes?: number;
  /** The clock for expiry, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** Receives a `command` event for every call, as for a round trip to Redis. */
  readonly onEvent?: MemoryEventHandler;
}

/** The form of {@link InMemorySessionStoreOptions}. */
export const inMemoryStoreSchema = lazy(() =>
  z.strictObject({
    maxMessageBytes: z._default(positiveInteger(), defaultMaxMessageBytes),
    maxAppendBytes: z._default(positiveInteger(), defaultMaxAppendBytes),
    now: z._default(anyFunction<() => number>(), () => Date.now),
    onEvent: z.optional(anyFunction<MemoryEventHandler>()),
  }),
);

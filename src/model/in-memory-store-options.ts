import * as z from "zod/mini";
import type { MemoryEventHandler } from "../base/events.js";
import { anyFunction, lazy } from "../base/options.js";
import type { SizeLimits } from "../store/request-checks.js";
import { sizeLimits } from "../store/size-limits.js";

/** Options of `InMemorySessionStore`. */
export interface InMemorySessionStoreOptions {
  /** Largest record and largest append, in bytes of UTF-8. @default 1,000,000 and 10,000,000 */
  readonly limits?: Partial<SizeLimits>;
  /** The clock for expiry, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** Receives a `command` event for every call, as for a round trip to Redis. */
  readonly onEvent?: MemoryEventHandler;
}

/** The form of {@link InMemorySessionStoreOptions}. */
export const inMemoryStoreSchema = lazy(() =>
  z.strictObject({
    limits: sizeLimits(),
    now: z._default(anyFunction<() => number>(), () => Date.now),
    onEvent: z.optional(anyFunction<MemoryEventHandler>()),
  }),
);

/**
 * Codes of {@link StoreError}. `erased`: the session was erased recently, and a guard (a tombstone that expires) keeps
 * late writers from recreating it.
 * @example
 * import { RedisChatMemory, StoreError } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * await memory.history("chat-7").getMessages().catch((error: unknown) => {
 *   if (StoreError.isInstance(error) && error.code === "out_of_memory") {
 *     console.error("Redis is full."); // no retry helps
 *   }
 *   throw error;
 * });
 */
export type StoreErrorCode =
  | "unavailable"
  | "timeout"
  | "out_of_memory"
  | "read_only"
  | "wrong_type"
  | "damaged"
  | "too_large"
  | "erased"
  | "closed"
  | "script_failed";

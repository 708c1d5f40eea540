import { MemoryError, StoreError, type StoreErrorCode } from "langchain-redis-memory";

/** What a caller knows of a failed call. */
export function codeOf(error: unknown): StoreErrorCode | string | undefined {
  if (StoreError.isInstance(error)) {
    const code: StoreErrorCode = error.code;
    return code;
  }
  return MemoryError.isInstance(error) ? error.code : undefined;
}

import { EncryptionError, MemoryError, StoreError } from "../../../src/base/errors.js";
import { failureOf, UsageError } from "../../failure.js";

/** Something that a request asks for does not exist. */
export class NotFoundError extends Error {
  override readonly name = "NotFoundError";
}

/** How a failed request is answered: the status, and a sentence that says what to do. */
export function problemOf(error: unknown): { readonly status: number; readonly sentence: string } {
  if (error instanceof NotFoundError) {
    return { status: 404, sentence: error.message };
  }
  if (error instanceof UsageError) {
    return { status: 400, sentence: error.message };
  }
  if (MemoryError.isInstance(error)) {
    const status = EncryptionError.isInstance(error) ? 403 : StoreError.isInstance(error) ? 502 : 409;
    return { status, sentence: failureOf(error).sentence ?? error.message };
  }
  // The message of an error that nobody expected may hold anything.
  return { status: 500, sentence: `The inspector failed (${error instanceof Error ? error.name : typeof error}).` };
}

/** A whole number of a query. */
export function wholeNumber(query: URLSearchParams, name: string, fallback?: number): number {
  const value = query.get(name);
  if (value === null && fallback !== undefined) {
    return fallback;
  }
  if (value === null || !/^\d{1,15}$/.test(value)) {
    throw new UsageError(`"${name}" must be a whole number.`);
  }
  return Number(value);
}

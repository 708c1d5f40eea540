import { DataError, UsageError } from "../../../../cli/failure.js";
import { MemoryError } from "../../../../src/base/errors.js";
import { NoJson } from "./reader.js";

/** True for the errors by which the library and the command line refuse what they read. */
export function isRefusal(error: unknown): boolean {
  return MemoryError.isInstance(error) || [DataError, UsageError, NoJson].some((kind) => error instanceof kind);
}

/** The result, or the error of a refusal. */
export function refusalOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    if (isRefusal(error)) {
      return error;
    }
    throw error;
  }
}

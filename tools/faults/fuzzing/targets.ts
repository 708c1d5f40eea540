import { askedReaders, shownReaders } from "./readers/asked.js";
import { importedReaders } from "./readers/imported.js";
import type { Reader } from "./readers/reader.js";
import { isRefusal } from "./readers/refusal.js";
import { besideReaders, sealedReaders, sessionReaders } from "./readers/stored.js";

/** Readers of bytes that others may have written. Each may refuse them by an error of the package, and by no other. */
export const groups: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  sessions: { ...sessionReaders, ...sealedReaders },
  beside: besideReaders,
  imported: importedReaders,
  asked: askedReaders,
  shown: shownReaders,
};

/** All of them by name. */
export const targets: Readonly<Record<string, Reader>> = Object.assign({}, ...Object.values(groups)) as Record<
  string,
  Reader
>;

/**
 * Calls a reader; a promise if the reader waits for something. Throws, or rejects with, what is no error of the
 * package; what it refuses by one is well.
 */
export function read(name: string, text: string): Promise<void> | undefined {
  try {
    const result = targets[name]!(text);
    return result instanceof Promise ? result.then(() => undefined, refuse) : undefined;
  } catch (error) {
    refuse(error);
    return undefined;
  }
}

function refuse(error: unknown): void {
  if (!isRefusal(error)) {
    throw error;
  }
}

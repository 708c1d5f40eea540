import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { UsageError } from "./failure.js";

/** A line of a file. */
export interface FileLine {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string;
}

/**
 * The lines of a file that are not empty, one at a time; `-` is standard input.
 *
 * @throws UsageError if the file cannot be read.
 */
export async function* linesOfFile(path: string): AsyncGenerator<FileLine> {
  let number = 0;
  const input = path === "-" ? process.stdin : createReadStream(path, "utf8");
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      number += 1;
      if (text.trim() !== "") {
        yield { number, text };
      }
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code !== undefined && /^E[A-Z]+$/.test(code)
      ? new UsageError(`${path}: the file cannot be read (${code}).`)
      : error;
  }
}

import { createReadStream } from "node:fs";
import { DataError, UsageError } from "./failure.js";

/** A line of a file. */
export interface FileLine {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string;
  /** Its offset in the file, in bytes. */
  readonly offset: number;
  /** Its bytes in the file, without the line feed. */
  readonly length: number;
}

/** A longer line would not fit into a JavaScript string. */
export const maxLineBytes = 256_000_000;

const lineFeed = 10;

/**
 * The lines of a file that are not empty, one at a time; `-` is standard input. Holds one line in memory.
 *
 * @throws UsageError if the file cannot be read; DataError for a line that is too long.
 */
export async function* linesOfFile(path: string): AsyncGenerator<FileLine> {
  let [number, offset] = [0, 0];
  try {
    for await (const line of rawLines(path)) {
      number += 1;
      const bytes = number === 1 ? withoutMark(line) : line;
      const text = bytes.toString("utf8").replace(/\r$/, "");
      if (text.trim() !== "") {
        yield { number, text, offset: offset + line.length - bytes.length, length: bytes.length };
      }
      offset += line.length + 1;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code !== undefined && /^(E[A-Z]+|ERR_INVALID_ARG_VALUE)$/.test(code)
      ? new UsageError(`${path}: the file cannot be read (${code}).`)
      : error instanceof RangeError
        ? new DataError(`${path}:${number + 1}: the line is longer than ${maxLineBytes / 1e6} MB.`)
        : error;
  }
}

/** Without the mark that some editors put before UTF-8. */
function withoutMark(line: Buffer): Buffer {
  return line.subarray(0, 3).toString("hex") === "efbbbf" ? line.subarray(3) : line;
}

async function* rawLines(path: string): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  const input = path === "-" ? process.stdin : createReadStream(path, { highWaterMark: 256 * 1_024 });
  for await (const chunk of input as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      yield parts.length === 0 ? chunk.subarray(from, end) : Buffer.concat([...parts, chunk.subarray(from, end)]);
      [parts, length, from] = [[], 0, end + 1];
    }
    length += chunk.length - from;
    if (length > maxLineBytes) {
      throw new RangeError("The line is too long.");
    }
    parts.push(chunk.subarray(from));
  }
  if (length > 0) {
    yield Buffer.concat(parts);
  }
}

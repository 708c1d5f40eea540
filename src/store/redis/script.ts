import { createHash } from "node:crypto";

/** Consecutive lines of a script that come from one file of `lua/`; `line` is the number that the first has there. */
export interface ScriptPart {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** A Lua script as the runner sends it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
  /** File and line, below `src/store/redis/lua`, from which a line of the source comes. */
  originOf(line: number): string | undefined;
}

/**
 * A script of these parts. Text and hash are computed on first use: hashing all scripts would dominate the import time,
 * and most programs send few.
 */
export function script(parts: readonly ScriptPart[]): Script {
  return {
    get source() {
      return keep(this, "source", parts.map(({ text }) => text).join("\n"));
    },
    get sha() {
      return keep(this, "sha", createHash("sha1").update(this.source).digest("hex"));
    },
    originOf: (line) => originOf(parts, line),
  };
}

/** Replaces a getter by its value. */
function keep(made: Script, field: "source" | "sha", value: string): string {
  Object.defineProperty(made, field, { value });
  return value;
}

function originOf(parts: readonly ScriptPart[], line: number): string | undefined {
  let left = line - 1;
  for (const { file, line: first, text } of parts) {
    const lines = text.split("\n").length;
    if (left < lines) {
      return `${file}:${first + left}`;
    }
    left -= lines;
  }
  return undefined;
}

import { createHash } from "node:crypto";
import { loadedOnce } from "../../base/bounds.js";

/** A Lua script as the runner sends it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/**
 * A script of these parts. Text and hash are computed on first use: hashing all scripts would dominate the import time,
 * and most programs send few.
 */
export function script(parts: readonly string[]): Script {
  return {
    get source() {
      return keep(this, "source", parts.join("\n"));
    },
    get sha() {
      return keep(this, "sha", createHash("sha1").update(this.source).digest("hex"));
    },
  };
}

/** Replaces a getter by its value. */
function keep(made: Script, field: "source" | "sha", value: string): string {
  Object.defineProperty(made, field, { value });
  return value;
}

/** The scripts that many histories never send, loaded with the first one that is needed. */
export const laterScripts = loadedOnce(() => import("./lua/later-scripts.js"));

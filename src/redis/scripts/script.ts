import { createHash } from "node:crypto";
import { lazy } from "../../base/options.js";

/** A Lua script as the runner sends it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/**
 * A script with the fragments that it uses before it. Text and hash are made when they are first needed: the hashes of
 * all scripts take longer than most of what an import of this package runs, and most programs send few of them.
 */
export function script(fragments: readonly string[], body: string): Script {
  const built = lazy(() => {
    const source = [...fragments, body].map((part) => part.trim()).join("\n");
    return { source, sha: createHash("sha1").update(source).digest("hex") };
  });
  return {
    get source() {
      return built().source;
    },
    get sha() {
      return built().sha;
    },
  };
}

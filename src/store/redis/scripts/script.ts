import { createHash } from "node:crypto";

/** A Lua script as the runner sends it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/** A script with the fragments that it uses before it. */
export function script(fragments: readonly string[], body: string): Script {
  const source = [...fragments, body].map((part) => part.trim()).join("\n");
  return { source, sha: createHash("sha1").update(source).digest("hex") };
}

import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly import: { readonly default: string } }>>;
}

const manifest = JSON.parse(readFileSync(join(__dirname, "..", "..", "package.json"), "utf8")) as Manifest;

/** The source of each entry of the package, below `src`: what package.json exports, less its own file. */
export const entries: readonly string[] = Object.values(manifest.exports)
  .flatMap((entry) => (typeof entry === "string" ? [] : entry.import.default))
  .map((built) => built.replace(/^\.\/dist\/esm\//, "").replace(/\.js$/, ".ts"));

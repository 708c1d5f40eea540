import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly import: { readonly types: string } }>>;
}

const manifest = JSON.parse(readFileSync(join(__dirname, "..", "..", "package.json"), "utf8")) as Manifest;

/** The source of each entry of the package, below the root: what package.json exports, less its own file. */
export const entries: readonly string[] = Object.values(manifest.exports)
  .flatMap((entry) => (typeof entry === "string" ? [] : entry.import.types))
  .map((built) => built.replace(/^\.\/dist\/esm\//, "").replace(/\.d\.ts$/, ".ts"));

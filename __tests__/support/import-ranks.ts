import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import type { SourceFile, SourceImport } from "./source-tree.js";
import { importsOf } from "./source-tree.js";

const architecture = readFileSync(join(__dirname, "..", "..", "ARCHITECTURE.md"), "utf8");

/** The floor of every room (a wing of src or a folder in it, `cli`, `testing`): the table in ARCHITECTURE.md. */
export const ranks: Readonly<Record<string, number>> = Object.fromEntries(
  [...architecture.matchAll(/^\| (\d+) +\| `([\w/-]+)` +\|/gm)].map(([, rank, room]) => [room!, Number(rank)]),
);

/** Folders inside a room that do not import each other: the list of walls in ARCHITECTURE.md. */
export const walls: readonly (readonly string[])[] = [...architecture.matchAll(/^- (`[\w-]+\/.*)$/gm)].map(([, line]) =>
  namesIn(line!),
);

/** Wings that may be deleted without breaking another one: the line about products in ARCHITECTURE.md. */
export const products: readonly string[] = namesIn(/^Products of their own: (.*)$/m.exec(architecture)?.[1] ?? "");

/** Packages that these folders alone may import; `lazy` ones only as types or with `await import(…)`. */
export const packageOwners: Readonly<Record<string, { readonly folders: readonly string[]; readonly lazy: boolean }>> =
  {
    ioredis: {
      folders: ["store/redis", "store/redis-store", "store/redis-lists", "memory/session", "cli"],
      lazy: true,
    },
    langchain: { folders: ["doors/agent"], lazy: false },
    "@langchain/langgraph-checkpoint": { folders: ["langgraph/checkpoint", "langgraph/long-term"], lazy: false },
    "@opentelemetry/api": { folders: ["formats/otel"], lazy: false },
  };

/** Packages that the build puts into the files of the command line: users need not have them. */
const bundledIntoCommand: ReadonlySet<string> = new Set([
  ...["commander", "picocolors", "string-width", "cli-progress", "vega", "vega-lite"],
  ...["preact", "@tanstack/virtual-core", "marked"],
]);

/**
 * The imports of a file of src that break the direction of dependency, each as a sentence with file, line and import.
 * `packages` are those that the package declares, so that users have them.
 */
export function importViolations(file: SourceFile, packages: ReadonlySet<string>): string[] {
  return importsOf(file).flatMap((found) => {
    const reason = whyForbidden(file.path, found, packages);
    const name = found.specifier ?? "a computed name";
    return reason === undefined ? [] : [`${file.path}:${found.line} imports ${name}: ${reason}`];
  });
}

/** The room of a file by its path from the root: a wing with files of its own, a folder in a wing, `cli`, `testing`. */
export function roomOf(path: string): string {
  const [wing = "", room] = path.replace(/^src\//, "").split("/");
  return wing in ranks || room === undefined ? wing : `${wing}/${room}`;
}

/** The wing of a room. */
export function wingOf(room: string): string {
  return room.split("/")[0]!;
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([\w/-]+)`/g)].map(([, name]) => name!);
}

function whyForbidden(path: string, found: SourceImport, packages: ReadonlySet<string>): string | undefined {
  const { specifier } = found;
  if (specifier === undefined) {
    return "an import must name its module";
  }
  return specifier.startsWith(".")
    ? whyForbiddenFile(path, posix.join(posix.dirname(path), specifier))
    : whyForbiddenPackage(roomOf(path), { ...found, specifier }, packages);
}

function whyForbiddenFile(path: string, target: string): string | undefined {
  const from = roomOf(path);
  const to = roomOf(target);
  if (!/^(src|cli|testing)\//.test(target)) {
    return "it is not a file of the package";
  }
  if (to === "entries" || posix.basename(target, ".js") === "index") {
    return "entries are for users; import the file itself";
  }
  if (to === from) {
    return whyWalled(path, target);
  }
  const below = ranks[to];
  if (below === undefined) {
    return `${to} is not in the rank table`;
  }
  const own = ranks[from] ?? -1;
  if (products.includes(wingOf(to)) && path.startsWith("src/") && ![wingOf(to), "entries"].includes(wingOf(from))) {
    return `${wingOf(to)} is a product of its own: no other wing needs it`;
  }
  return below < own ? undefined : `${to} (rank ${below}) is not below ${from} (rank ${own})`;
}

function whyWalled(path: string, target: string): string | undefined {
  for (const rooms of walls) {
    const [from, to] = [path, target].map((file) => rooms.find((room) => file.startsWith(`${room}/`)));
    if (from !== undefined && to !== undefined && from !== to) {
      return `a wall stands between ${from} and ${to}`;
    }
  }
  return undefined;
}

function whyForbiddenPackage(
  from: string,
  { specifier, value, lazy }: SourceImport & { readonly specifier: string },
  packages: ReadonlySet<string>,
): string | undefined {
  if (specifier.startsWith("node:")) {
    return undefined;
  }
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  if (from === "cli" && bundledIntoCommand.has(name)) {
    return undefined;
  }
  if (!packages.has(name)) {
    return `${name} is neither a dependency nor a peer dependency`;
  }
  if (specifier === "@langchain/core") {
    return "import a subpath of it";
  }
  if (specifier === "zod" && value) {
    return 'write `import * as z from "zod/mini"`: bundlers keep all of zod otherwise';
  }
  const owner = packageOwners[name];
  if (owner !== undefined && !owner.folders.includes(from)) {
    return `only ${owner.folders.map((folder) => `${folder}/`).join(" and ")} may import ${name}`;
  }
  return owner?.lazy === true && value && !lazy
    ? `${name} is loaded when first needed: import its types, or use await import()`
    : undefined;
}

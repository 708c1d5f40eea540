import { build, type Plugin } from "esbuild";
import { mkdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { luaModules, moduleFrom } from "../../scripts/lua/assemble.js";
import { plants, type Plant, type PlantName } from "../plants/plants.js";

/** Packages of the older kind ask for what belongs to Node.js by `require`. */
const requireForPackages =
  'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

const root = join(import.meta.dirname, "../../..");

/**
 * Makes one file of the client process and all that it imports, with a defect planted where one is asked for, and
 * returns its path.
 */
export function buildClient(plant: PlantName | undefined): Promise<string> {
  return buildWithPlant(join(import.meta.dirname, "main.ts"), { name: "client", plant });
}

/** The same for another program; plants are by name. Further changes are made to what every process runs. */
export async function buildWithPlant(
  entry: string,
  {
    name,
    plant,
    more = [],
    packages = "bundle",
  }: {
    readonly name: string;
    readonly plant: PlantName | undefined;
    readonly more?: readonly Plant[];
    readonly packages?: "bundle" | "external";
  },
): Promise<string> {
  const changes = [...(plant === undefined ? [] : plants[plant]), ...more];
  const folder = join(root, ".cache/faults");
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${name}-${process.pid}-${plant ?? "sound"}.mjs`);
  const planted = new Set<string>();
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    // With packages, a process that is killed and begins again loads one file, in half the time.
    packages,
    banner: { js: requireForPackages },
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
    plugins: changes.length === 0 ? [] : [planting(changes, planted)],
  });
  const missing = changes.filter(({ file }) => !planted.has(file));
  if (missing.length > 0) {
    throw new Error(`What is changed in the program was not found: ${missing.map(({ file }) => file).join(", ")}.`);
  }
  return outfile;
}

/** Replaces the texts of a plant while the sources are read. Rebuilds the modules of Lua scripts from their files. */
function planting(changes: readonly Plant[], planted: Set<string>): Plugin {
  const read = (file: string) =>
    changes
      .filter((change) => change.file === file)
      .reduce((text, change) => planted.add(file) && changed(text, change), readFileSync(join(root, file), "utf8"));
  return {
    name: "planting",
    setup: ({ onLoad }) => {
      onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
        const file = relative(root, path).split(sep).join("/");
        return { contents: luaModules.includes(file) ? moduleFrom(root, file, read) : read(file), loader: "ts" };
      });
    },
  };
}

function changed(text: string, { file, search, replacement }: Plant): string {
  if (text.split(search).length !== 2) {
    throw new Error(`${file} does not hold exactly once what is to be changed: ${search}`);
  }
  return text.replace(search, () => replacement);
}

import { build, type Plugin } from "esbuild";
import { mkdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { luaModules, moduleFrom } from "../../scripts/lua/assemble.js";
import { plants, type Plant, type PlantName } from "../plants/plants.js";

/** Packages of the older kind ask for what belongs to Node.js by `require`. */
const requireForPackages =
  'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

const root = join(import.meta.dirname, "../..");

/**
 * Makes one file of the client process and all that it imports, with a defect planted where one is asked for, and
 * returns its path.
 */
export async function buildClient(plant: PlantName | undefined): Promise<string> {
  const folder = join(root, ".cache/faults");
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `client-${process.pid}-${plant ?? "sound"}.mjs`);
  const planted = new Set<string>();
  await build({
    entryPoints: [join(import.meta.dirname, "main.ts")],
    outfile,
    bundle: true,
    // Packages too: a process that is killed and begins again loads one file, in half the time.
    banner: { js: requireForPackages },
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
    plugins: plant === undefined ? [] : [planting(plant, planted)],
  });
  const missing = plant === undefined ? [] : plants[plant].filter(({ file }) => !planted.has(file));
  if (missing.length > 0) {
    throw new Error(`The defect "${plant}" was not planted: ${missing.map(({ file }) => file).join(", ")} not found.`);
  }
  return outfile;
}

/** Replaces the texts of a plant while the sources are read. Rebuilds the modules of Lua scripts from their files. */
function planting(plant: PlantName, planted: Set<string>): Plugin {
  const read = (file: string) =>
    plants[plant]
      .filter((change) => change.file === file)
      .reduce(
        (text, change) => planted.add(file) && changed(plant, text, change),
        readFileSync(join(root, file), "utf8"),
      );
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

function changed(plant: PlantName, text: string, { file, search, replacement }: Plant): string {
  if (text.split(search).length !== 2) {
    throw new Error(`The defect "${plant}" cannot be planted: ${file} does not hold its text exactly once.`);
  }
  return text.replace(search, () => replacement);
}

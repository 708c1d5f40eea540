// Types file by file, by the compiler; code in a few files per module system, because to import two hundred small ones
// takes long.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rollup } from "@rollup/wasm-node";
import { buildCommand } from "./build-command.mjs";
import { markPure } from "./mark-pure.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const compiled = join(dist, "esm");
const compile = (project) =>
  execFileSync("npx", ["--no-install", "tsc", "--project", project], { cwd: root, stdio: "inherit" });

/** For each entry, the modules that it needs. */
let reached;

rmSync(dist, { recursive: true, force: true });
compile("tsconfig.build.json");
compile("tsconfig.build.cjs.json");

// All entries in one run: what several of them need is in one chunk, so its state (caches, WeakMaps) is shared.
const entries = [
  ...["index", "agent", "openai", "tool-loop", "sessions", "structure", "otel", "store", "checkpoint"].map(
    (name) => `src/entries/${name}.js`,
  ),
  "testing/index.js",
].map((file) => join(compiled, file));
const bundle = await rollup({
  input: entries,
  external: (specifier) => !specifier.startsWith(".") && !isAbsolute(specifier),
  plugins: [{ name: "compiled", load: readCompiled }],
  onLog(level, { message }) {
    throw new Error(`${level}: ${message}`);
  },
});
for (const name of readdirSync(compiled, { recursive: true }).filter((file) => /\.js$/.test(file))) {
  rmSync(join(compiled, name));
}
for (const [format, folder] of [
  ["es", "esm"],
  ["cjs", "cjs"],
]) {
  await bundle.write({
    format,
    dir: join(dist, folder),
    entryFileNames: ({ facadeModuleId }) => `${nameOfEntry(facadeModuleId)}.js`,
    manualChunks: (file, { getModuleInfo }) => (isShared(file, getModuleInfo) ? "shared" : undefined),
    chunkFileNames: "[name].js",
    generatedCode: "es2015",
    interop: "auto",
    // Jest and other runners of CommonJS know `require` only.
    dynamicImportInCjs: false,
    hoistTransitiveImports: false,
  });
}
await bundle.close();
await buildCommand(root, join(dist, "cli"));
// The package is "type": "module"; without this line Node would read the CommonJS build as ESM.
writeFileSync(join(dist, "cjs", "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);

/** The name under which users import an entry: its file's, or its folder's where the file is an index of its own. */
function nameOfEntry(file) {
  const [folder, name] = file.slice(0, -".js".length).split(/[/\\]/).slice(-2);
  return name === "index" && folder !== "entries" ? folder : name;
}

/** True for a module that more than one entry needs. */
function isShared(file, getModuleInfo) {
  reached ??= entries.map((entry) => modulesFrom(entry, getModuleInfo));
  return !entries.includes(file) && reached.filter((modules) => modules.has(file)).length > 1;
}

/** A module and all that it imports, at once or later. */
function modulesFrom(entry, getModuleInfo) {
  const found = new Set([entry]);
  for (const file of found) {
    const { importedIds, dynamicallyImportedIds } = getModuleInfo(file);
    [...importedIds, ...dynamicallyImportedIds].forEach((imported) => found.add(imported));
  }
  return found;
}

/** A compiled module. Without a source map: what is published is readable, and a map is larger than its code. */
function readCompiled(file) {
  return { code: markPure(readFileSync(file, "utf8")), map: null };
}

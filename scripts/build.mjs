// Types file by file, by the compiler; code in a few files per module system, because to import two hundred small ones
// takes long.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rollup } from "@rollup/wasm-node";
import { buildCommand } from "./build-command.mjs";
import { markPure } from "./mark-pure.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const compiled = join(dist, "esm");
const compile = (project) =>
  execFileSync("npx", ["--no-install", "tsc", "--project", project], { cwd: root, stdio: "inherit" });

/** The chunks of what the main entry loads when it first uses it, by room. Each imports only those in front of it. */
const laterChunks = {
  ...Object.fromEntries(["base", "messages", "tokens", "structure", "store", "redis"].map((room) => [room, "scripts"])),
  ...{ "redis-lists": "lists", "redis-store": "groups", sealed: "sealed" },
};
/** What a history needs at once is a chunk of its own, so that bundles of it hold nothing else. */
const history = join(compiled, "src/memory/redis-chat-message-history.js");
/** The modules that the history and each entry need, see {@link modulesFrom}. */
let needs;

rmSync(dist, { recursive: true, force: true });
compile("tsconfig.build.json");
compile("tsconfig.build.cjs.json");

// All entries in one run: what several of them need is in one chunk, so its state (caches, WeakMaps) is shared.
const entries = [
  ...["index", "agent", "openai", "tool-loop", "sessions", "structure", "otel", "store", "checkpoint", "runs"].map(
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
    manualChunks: (file, { getModuleInfo }) => chunkOf(file, getModuleInfo),
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

/**
 * The chunk of a module: "history"; "shared" for what the main entry needs at once, and another entry or what is loaded
 * later needs too; and one of `laterChunks`.
 */
function chunkOf(file, getModuleInfo) {
  needs ??= [history, ...entries].map((entry) => modulesFrom(entry, getModuleInfo));
  const [ofHistory, main, ...others] = needs;
  const isNeeded = [...others.map(({ atOnce }) => atOnce), ...needs.map(({ later }) => later)];
  if (ofHistory.atOnce.has(file)) {
    return "history";
  }
  if (main.atOnce.has(file)) {
    const isShared = isNeeded.some((modules) => modules.has(file));
    return isShared && !entries.includes(file) ? "shared" : undefined;
  }
  const room = relative(compiled, file).split(sep)[1];
  return main.later.has(file) ? (laterChunks[room] ?? "operations") : undefined;
}

/** The modules that an entry loads at once, itself included, and those that what it imports later needs. */
function modulesFrom(entry, getModuleInfo) {
  const atOnce = new Set([entry]);
  const later = new Set();
  for (const file of atOnce) {
    const { importedIds, dynamicallyImportedIds } = getModuleInfo(file);
    importedIds.forEach((imported) => atOnce.add(imported));
    dynamicallyImportedIds.forEach((imported) => later.add(imported));
  }
  for (const file of later) {
    const { importedIds, dynamicallyImportedIds } = getModuleInfo(file);
    [...importedIds, ...dynamicallyImportedIds].forEach((imported) => later.add(imported));
  }
  return { atOnce, later };
}

/** A compiled module. Without a source map: what is published is readable, and a map is larger than its code. */
function readCompiled(file) {
  return { code: markPure(readFileSync(file, "utf8")), map: null };
}

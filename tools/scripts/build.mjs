// Types file by file, by the compiler; code in a few files per module system, because to import two hundred small ones
// takes long.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rollup } from "@rollup/wasm-node";
import { parseAst } from "@rollup/wasm-node/parseAst";
import { buildCommand } from "./build-command.mjs";
import { markPure } from "./mark-pure.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const dist = join(root, "dist");
const compiled = join(dist, "esm");
const compile = (project) =>
  execFileSync("npx", ["--no-install", "tsc", "--project", project], { cwd: root, stdio: "inherit" });

/**
 * The chunks of what the main entry loads when it first uses it, by folder or by file. Each imports only those in front
 * of it.
 */
const laterChunks = {
  ...{ "store/redis/script.js": "script", "store/redis/lua/scripts.js": "first-scripts" },
  ...Object.fromEntries(["base", "conversation", "store/contract", "store/redis"].map((room) => [room, "scripts"])),
  ...{ "store/redis-lists": "lists", "store/redis-store": "groups", "store/sealed": "sealed" },
};
/** What a history needs at once is a chunk of its own, so that bundles of it hold nothing else. */
const history = join(compiled, "src/memory/histories/redis-chat-message-history.js");
/** The modules that the history and each entry need, see {@link modulesFrom}. */
let needs;

rmSync(dist, { recursive: true, force: true });
execFileSync("npx", ["--no-install", "tsx", "tools/scripts/build-lua.mjs"], { cwd: root, stdio: "inherit" });
compile("tsconfig.build.json");
compile("tsconfig.build.cjs.json");

// All entries in one run: what several of them need is in one chunk, so its state (caches, WeakMaps) is shared.
const entries = [
  ...["index", "agent", "openai", "tool-loop", "sessions", "structure", "otel", "checkpoint", "runs"].map(
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
separateHistory(join(dist, "esm"));
await buildCommand(root, join(dist, "cli"));
// The package is "type": "module"; without this line Node would read the CommonJS build as ESM.
writeFileSync(join(dist, "cjs", "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);

/**
 * Divides the main entry, so that a bundle of the history alone holds neither the rest of the entry nor `shared.js`:
 * `index.js` re-exports what the history's chunk has, and `main.js`, which has the rest. That gives names of its own to
 * what lies in `shared.js`, because esbuild keeps each file beside an entry in which a re-export of it ends.
 */
function separateHistory(folder) {
  const code = readFileSync(join(folder, "index.js"), "utf8");
  const lists = parseAst(code).body.filter(({ type }) => type === "ExportNamedDeclaration");
  const isOfHistory = ({ source }) => source?.value === "./history.js";
  const ofHistory = lists.filter(isOfHistory).map(({ start, end }) => code.slice(start, end));
  const own = lists.filter((list) => !isOfHistory(list)).flatMap(ownNames);
  const withoutLists = lists.reduceRight((text, { start, end }) => text.slice(0, start) + text.slice(end), code);
  writeFileSync(join(folder, "main.js"), `${[withoutLists, ...own.map(({ text }) => text)].join("\n")}\n`);
  const ofMain = `export { ${own.map(({ name }) => name).join(", ")} } from './main.js';`;
  writeFileSync(join(folder, "index.js"), `${[...ofHistory, ofMain].join("\n")}\n`);
}

/** The names of an export list, each with a constant of its own. */
function ownNames({ source, specifiers }) {
  return specifiers.map(({ local, exported: { name } }) => {
    const value = source === null ? local.name : `${name}$shared`;
    const from = source === null ? "" : `import { ${local.name} as ${value} } from '${source.value}';\n`;
    return { name, text: `${from}const ${name}$main = ${value};\nexport { ${name}$main as ${name} };` };
  });
}

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
  const [, ...path] = relative(compiled, file).split(sep);
  const folders = path.map((_, index) => path.slice(0, path.length - index).join("/"));
  const chunk = laterChunks[folders.find((folder) => folder in laterChunks)] ?? "operations";
  return main.later.has(file) ? chunk : undefined;
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

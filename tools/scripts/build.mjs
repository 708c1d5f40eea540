// Types and modules file by file, by the compiler. Node.js takes long to import two hundred small files, so it gets
// them joined into a few per module system; bundlers take the modules (condition "module" of package.json's exports).
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
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
/** The modules that each entry needs, see {@link modulesFrom}. */
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
writeModules(compiled);
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

/**
 * The modules one by one, for bundlers: they leave out by the module what an application does not use, whatever later
 * parts of it need. Without comments, which stand in the types and in the joined files.
 */
function writeModules(folder) {
  const files = readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
  for (const file of files.filter((name) => name.endsWith(".js") && !entries.includes(name))) {
    writeFileSync(file, transformSync(readCompiled(file).code, { format: "esm" }).code);
  }
  entries.forEach(separateExports);
}

/**
 * Gives each module that an entry re-exports a file in between with constants of its own, because esbuild keeps every
 * module in which a re-export ends that some later part uses.
 */
function separateExports(entry) {
  const code = readFileSync(entry, "utf8");
  const lists = parseAst(code).body.filter(({ source, type }) => source && type === "ExportNamedDeclaration");
  const folder = entry.slice(0, -".js".length);
  const separated = lists.reduceRight((text, { start, end, source, specifiers }, index) => {
    const names = specifiers.map(({ local, exported }) => [local.name, exported.name]);
    const target = relative(folder, join(dirname(entry), source.value))
      .split(sep)
      .join("/");
    const lines = names.flatMap(([local, name], at) => [
      `import { ${local} as own${at} } from "${target}";\n`,
      `const its${at} = own${at};\nexport { its${at} as ${name} };\n`,
    ]);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${index}.js`), lines.join(""));
    const list = names.map(([, name]) => name).join(", ");
    return `${text.slice(0, start)}export { ${list} } from "./${basename(folder)}/${index}.js";${text.slice(end)}`;
  }, code);
  writeFileSync(entry, separated);
}

/** The name under which users import an entry: its file's, or its folder's where the file is an index of its own. */
function nameOfEntry(file) {
  const [folder, name] = file.slice(0, -".js".length).split(/[/\\]/).slice(-2);
  return name === "index" && folder !== "entries" ? folder : name;
}

/**
 * The chunk of a module: "shared" for what the main entry needs at once, and another entry or what is loaded later
 * needs too; and one of `laterChunks`.
 */
function chunkOf(file, getModuleInfo) {
  needs ??= entries.map((entry) => modulesFrom(entry, getModuleInfo));
  const [main, ...others] = needs;
  const isNeeded = [...others.map(({ atOnce }) => atOnce), ...needs.map(({ later }) => later)];
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

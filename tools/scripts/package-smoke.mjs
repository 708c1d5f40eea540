// Checks the package as users get it: packed, installed into an empty folder, imported, required, type-checked, and
// used by the examples.
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { agentSets, locked, mainSets, newestGraph, otelSets } from "./peer-sets.mjs";
import { startRedis } from "./smoke-redis.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const examples = join(root, "examples");
const applications = join(examples, "apps");
const ownName = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).name;
const expectedFiles = /^((dist|docs|examples)\/.+(?<!\.map)|[A-Z]+\.md|LICENSE|package\.json)$/;
const requiredFiles = [
  ...["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "docs/getting-started.md"],
  "dist/cli/THIRD-PARTY-NOTICES.txt",
];
/**
 * What a minified bundle of one export may load at once, with its part of zod, in bytes; other packages stay outside,
 * and what is imported when first used lies in chunks beside it.
 */
const bundleLimits = {
  ChatHistoryTruncationReducer: 58_000,
  ChatHistoryToolResultReducer: 65_500,
  RedisChatMessageHistory: 169_000,
};
/** What the package may take, in bytes. */
const tarballLimit = 2_700_000;
const installedLimit = 10_200_000;

const folder = mkdtempSync(join(tmpdir(), "package-smoke-"));
let failures = 0;
const redis = check("start redis-server", () => startRedis(folder));
try {
  main();
} finally {
  redis?.stop();
  rmSync(folder, { recursive: true, force: true });
}
console.log(failures === 0 ? "\nThe package works as packed." : `\n${failures} of the checks above failed.`);
process.exitCode = failures === 0 ? 0 : 1;

function main() {
  // The last file that a build writes.
  const built = join(root, "dist", "cjs", "package.json");
  if (!existsSync(built)) {
    check("build", () => run(process.execPath, [join(root, "tools/scripts/build.mjs")], root));
  }
  const tarball = existsSync(built) ? check("npm pack", () => pack()) : undefined;
  if (tarball === undefined) {
    return;
  }
  check("types resolve in every module system (attw)", () => runTool("attw", [tarball, "--no-color", "--no-emoji"]));
  check("package.json is right (publint)", () => runTool("publint", ["run", tarball, "--strict"]));
  const places = mainSets.map((set) => checkInstalled(tarball, "smoke", set));
  checkBundles(places[0]);
  checkInstalledSize(places[0]);
  agentSets.forEach((set) => checkInstalled(tarball, "smoke-agent", set));
  otelSets.forEach((set) => checkInstalled(tarball, "smoke-otel", set));
  checkExamples(tarball);
  readdirSync(applications).forEach((name) => checkApplication(tarball, name));
  checkChatPage(tarball);
}

/** Follows the guide of the chat page in a new application of Next.js, and uses it in Chromium. */
function checkChatPage(tarball) {
  check("the chat page of the guide, in a new application of Next.js", () => {
    const place = mkdtempSync(join(folder, "chat-page-"));
    runTool("tsx", [join(root, "tools/scripts/chat-page-smoke.ts"), tarball, place]);
  });
}

/**
 * Packs and returns the tarball's path; complains about files that do not belong in it, and about those that are
 * missing.
 */
function pack() {
  const [{ filename, files, size, unpackedSize }] = JSON.parse(
    run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], root),
  );
  const paths = files.map(({ path }) => path);
  const problems = [
    ...paths.filter((path) => !expectedFiles.test(path)).map((path) => `${path} does not belong in the package`),
    ...requiredFiles.filter((path) => !paths.includes(path)).map((path) => `${path} is missing from the package`),
    ...(size > tarballLimit ? [`The tarball has ${size} bytes, ${tarballLimit} are allowed.`] : []),
  ];
  if (problems.length > 0) {
    throw new Error(problems.join("\n"));
  }
  console.log(`  ${size} bytes, ${unpackedSize} unpacked, ${paths.length} files`);
  return join(folder, filename);
}

/** What the package takes; its dependencies are those that the peers have too, unless versions do not agree. */
function checkInstalledSize(place) {
  check("the installed package is small, and brings no second copy of a dependency", () => {
    const bytes = sizeOf(join(place, "node_modules", ownName));
    console.log(`  ${bytes} bytes`);
    if (bytes > installedLimit || existsSync(join(place, "node_modules", ownName, "node_modules"))) {
      throw new Error(`${installedLimit} bytes are allowed, and no node_modules of its own.`);
    }
  });
}

function sizeOf(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0);
}

/**
 * Installs the tarball with these peers and nothing else, then runs and type-checks the programs of a folder of
 * scripts.
 */
function checkInstalled(tarball, name, { peers, skipLibCheck = false }) {
  const programs = join(root, "tools/scripts", name);
  const place = mkdtempSync(join(folder, `${name}-`));
  const installed = check(`install with ${peers.join(", ")}`, () => {
    install(place, [tarball, ...peers]);
    return true;
  });
  if (!installed) {
    return place;
  }
  const files = readdirSync(programs).sort();
  cpSync(programs, place, { recursive: true });
  for (const file of files.filter((name) => /\.[cm]js$/.test(name))) {
    check(`run ${file}`, () => run(process.execPath, [file], place));
  }
  const typed = files.filter((name) => name.endsWith(".ts"));
  check(`type-check ${typed.join(", ")} as ESM and CommonJS, NodeNext and bundler`, () =>
    typeCheck(place, typed, skipLibCheck),
  );
  return place;
}

/** Bundles single exports as a user would: what they do not use is to stay out. */
function checkBundles(place) {
  const external = ["@langchain/*", "ioredis", "js-tiktoken"];
  const output = { splitting: true, format: "esm", outdir: place, write: false, metafile: true };
  const options = { bundle: true, minify: true, platform: "node", external, ...output };
  for (const [name, limit] of Object.entries(bundleLimits)) {
    check(`a bundle of ${name} holds what it uses`, () => {
      const contents = `export { ${name} } from "${ownName}"`;
      const { metafile } = buildSync({ stdin: { contents, resolveDir: place }, ...options });
      const { atOnce, later } = bundleSizes(metafile);
      if (atOnce > limit) {
        throw new Error(`The bundle has ${atOnce} bytes, ${limit} are allowed; see tools/scripts/mark-pure.mjs.`);
      }
      console.log(`  ${atOnce} bytes, and ${later} in chunks that are loaded when first used`);
    });
  }
}

/** Bytes of the files that a bundle loads at once, and of those that it imports when they are first used. */
function bundleSizes({ outputs }) {
  const atOnce = new Set(Object.keys(outputs).filter((file) => outputs[file].entryPoint === "<stdin>"));
  for (const file of atOnce) {
    const imported = outputs[file].imports.filter(({ kind, external }) => kind === "import-statement" && !external);
    imported.forEach(({ path }) => atOnce.add(path));
  }
  const bytes = (files) => files.reduce((sum, file) => sum + outputs[file].bytes, 0);
  const later = Object.keys(outputs).filter((file) => !atOnce.has(file));
  return { atOnce: bytes([...atOnce]), later: bytes(later) };
}

/** Compiles copies of the programs, as .mts and .cts where the extension decides, and as they are for bundlers. */
function typeCheck(place, files, skipLibCheck) {
  for (const file of files) {
    cpSync(join(place, file), join(place, `${basename(file, extname(file))}.mts`));
    cpSync(join(place, file), join(place, `${basename(file, extname(file))}.cts`));
  }
  const shared = [
    "--noEmit",
    "--strict",
    ...(skipLibCheck ? ["--skipLibCheck"] : []),
    "--target",
    "es2022",
    "--typeRoots",
    join(root, "node_modules", "@types"),
    "--types",
    "node",
  ];
  const named = (extension) => files.map((file) => `${basename(file, extname(file))}${extension}`);
  runTool("tsc", [...shared, "--module", "nodenext", ...named(".mts"), ...named(".cts")], place);
  runTool("tsc", [...shared, "--module", "esnext", "--moduleResolution", "bundler", ...files], place);
}

/** Runs every example against the installed package, with the other packages that the examples import. */
function checkExamples(tarball) {
  const files = existsSync(examples)
    ? readdirSync(examples)
        .filter((name) => /^\d\d-.+\.ts$/.test(name))
        .sort()
    : [];
  if (files.length === 0) {
    return;
  }
  const place = join(folder, "with-examples");
  const installed = check("install with what the examples import", () => {
    const names = ["@langchain/core", "ioredis", ...importedByExamples()];
    const graph = names.includes("langchain") ? newestGraph : [];
    install(place, [tarball, ...new Set([...names.map((name) => locked(name)), ...graph])]);
    cpSync(examples, join(place, "examples"), { recursive: true });
    return true;
  });
  if (installed) {
    check("type-check the README's code", () => typeCheckReadme(place));
  }
  for (const file of installed ? files : []) {
    const needsRedis = readFileSync(join(examples, file), "utf8").includes("Needs Redis (REDIS_URL)");
    const env = needsRedis && redis !== undefined ? { REDIS_URL: `unix://${redis.socket}` } : {};
    check(`run examples/${file}`, () => runTool("tsx", [join("examples", file)], place, env));
  }
}

/** Installs an application by its own package.json, compiles it, and plays it: what it prints stands in its README. */
function checkApplication(tarball, name) {
  const place = join(folder, "apps", name);
  check(`examples/apps/${name} installs, compiles and runs by itself`, () => {
    cpSync(join(applications, name), place, { recursive: true });
    run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", "--no-progress", tarball], place);
    const { scripts } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
    if (scripts.build !== undefined) {
      return run("npm", ["run", "build"], place, { NEXT_TELEMETRY_DISABLED: "1" });
    }
    run("npx", ["--no-install", "tsc", "-p", "."], place);
    const [, expected] = /^```text\n([\s\S]*?)^```/m.exec(readFileSync(join(place, "README.md"), "utf8"));
    const printed = run("npm", ["run", "--silent", "try"], place, { REDIS_URL: `unix://${redis.socket}` });
    if (printed !== expected) {
      throw new Error(`It printed:\n${printed}`);
    }
  });
}

/** Each block by itself, against the packed types. */
function typeCheckReadme(place) {
  const blocks = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```ts[^\n]*\n([\s\S]*?)```/g)];
  const names = blocks.map((_, index) => `readme-${index}.mts`);
  blocks.forEach(([, code], index) => writeFileSync(join(place, names[index]), code));
  const types = ["--typeRoots", join(root, "node_modules", "@types"), "--types", "node"];
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", ...types];
  runTool("tsc", [...options, ...names], place);
}

function importedByExamples() {
  const files = readdirSync(examples, { recursive: true }).filter((name) => /^(?!apps\b).*\.ts$/.test(name));
  const specifiers = files.flatMap((name) =>
    [...readFileSync(join(examples, name), "utf8").matchAll(/(?:\bfrom|\bimport\(?)\s*"([^".][^"]*)"/g)].map(
      (match) => match[1],
    ),
  );
  return specifiers
    .filter((name) => !name.startsWith("node:"))
    .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"))
    .filter((name) => name !== ownName);
}

function install(place, specifications) {
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ private: true, type: "module" }));
  run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", "--no-progress", ...specifications], place);
}

/** Runs a tool of this repository's node_modules. */
function runTool(name, args, cwd = folder, env = {}) {
  const bin = join(root, "node_modules", ".bin", process.platform === "win32" ? `${name}.cmd` : name);
  return run(bin, args, cwd, env);
}

function run(command, args, cwd, more = {}) {
  // Nothing of an npm that started this script may leak into the npm that it starts.
  const settings = { ...process.env, SMOKE_REDIS_SOCKET: redis?.socket ?? "", ...more };
  const env = Object.fromEntries(
    Object.entries(settings).filter(([name]) => !/^npm_(package|lifecycle|config_local_prefix)/.test(name)),
  );
  return execFileSync(command, args, {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 900_000,
  });
}

function check(title, work) {
  const begun = performance.now();
  try {
    const result = work();
    console.log(`ok    ${title} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
    return result;
  } catch (error) {
    failures += 1;
    const said = [error.stdout, error.stderr].filter(Boolean).join("\n").trim() || error.message;
    console.log(`FAIL  ${title}\n${said.replace(/^/gm, "      ")}`);
    return undefined;
  }
}

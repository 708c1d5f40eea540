// Sends the matrix of requests (`npm run check:wire`) through other versions of LangChain's adapters than the
// lockfile's: the lowest that are supported, or the newest that are published. Installs them in a temporary folder.
//
// Usage: npm run check:wire:adapters -- lowest|newest [--folder <folder that keeps them>]
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { locked, lowestAdapters } from "./peer-sets.mjs";

/** What adapters leave out that are older than the lockfile's, of the texts beside calls. */
const textsBesideCalls = ["I look.", "I lo", "ok."];
const withoutTextsBesideCalls = { lowest: ["mistral", "openai-chat", "deepseek"], newest: ["mistral"] };

const { positionals, values } = parseArgs({ options: { folder: { type: "string" } }, allowPositionals: true });
const [wanted] = positionals;
if (!Object.hasOwn(withoutTextsBesideCalls, wanted ?? "")) {
  process.stderr.write("Usage: npm run check:wire:adapters -- lowest|newest [--folder <folder that keeps them>]\n");
  process.exit(2);
}
const folder = values.folder === undefined ? mkdtempSync(join(tmpdir(), "adapters-")) : resolve(values.folder);
try {
  await install();
  const report = play();
  // Of models in sight, and of those that are not.
  const isReady = (cell) => cell.startsWith("toModel/") || cell.startsWith("hidden/");
  const invalid = report.failing.filter((cell) => isReady(cell) && !isListed(cell) && !isUnread(cell));
  const lost = Object.entries(report.replays.lost).flatMap(([cell, texts]) => {
    if (isUnread(cell.replace("hidden: ", "hidden/")) || isToGoogle(cell)) {
      return [];
    }
    const isNamed = withoutTextsBesideCalls[wanted].some((target) => cell.endsWith(` > ${target}`));
    return texts.filter((text) => !isNamed || !textsBesideCalls.includes(text)).map((text) => `${cell}: ${text}`);
  });
  const ready = report.played.filter(isReady).length;
  invalid.forEach((cell) => console.log(`invalid: ${cell}`));
  lost.forEach((text) => console.log(`lost: ${text}`));
  console.log(`${wanted}: ${ready - invalid.length} of ${ready} cells are valid, ${lost.length} texts or calls lost`);
  process.exitCode = ready > 0 && invalid.length + lost.length === 0 ? 0 : 1;
} finally {
  if (values.folder === undefined) {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Cells that fail with the lockfile's adapters too, as `hidden/source > target/operation: cause`. */
function isListed(cell) {
  const { hidden } = JSON.parse(readFileSync("__tests__/wire/failing-cells.json", "utf8"));
  return Object.entries(hidden).some(([cause, pairs]) =>
    Object.entries(pairs).some(([pair, operations]) =>
      operations.some((operation) => cell === `hidden/${pair}/${operation}: ${cause}`),
    ),
  );
}

/** Behind OpenAI's answers, a ChatGoogle out of sight reads no calls. */
function isToGoogle(cell) {
  return /^hidden: (?:openai|responses|deepseek|mistral)\S* > google$/.test(cell);
}

/** ChatOpenAI before 1.1 sends no calls of messages that are marked for models out of sight. */
function isUnread(cell) {
  const isMarked = /^hidden\/(?:anthropic|google|mistral|bedrock)\S* > (?:openai|responses|deepseek)/.test(cell);
  return wanted === "lowest" && isMarked;
}

async function install() {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const versions = Object.entries(lowestAdapters).map(([name, version]) =>
    wanted === "newest" ? `${name}@latest` : `${name}@${version}`,
  );
  const packages = [...versions, locked("zod"), locked("js-tiktoken")];
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  execFileSync("npm", ["install", ...options, ...packages], { cwd: folder, stdio: "inherit" });
  await build({
    entryPoints: [resolve("testkit/wire-matrix/main.ts")],
    outfile: join(folder, "matrix.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "warning",
  });
}

function play() {
  const output = execFileSync(process.execPath, ["matrix.mjs", "--report"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    // Old adapters warn at many messages.
    stdio: ["ignore", "pipe", "ignore"],
  });
  return JSON.parse(output.trimEnd().split("\n").at(-1));
}

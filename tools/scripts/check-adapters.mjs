// Sends the matrix of requests (`npm run check:wire`) through other versions of LangChain's adapters than the
// lockfile's: the lowest that are supported, or the newest that are published. Installs them in a temporary folder.
//
// Usage: npm run check:wire:adapters -- lowest|newest [--folder <folder that keeps them>]
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { install, linesOf, withFolder } from "./adapter-folder.mjs";
import { lowestAdapters } from "./peer-sets.mjs";

/** What adapters leave out that are older than the lockfile's, of the texts beside calls. */
const textsBesideCalls = ["I look.", "I lo", "ok."];
const withoutTextsBesideCalls = { lowest: ["mistral", "openai-chat", "deepseek"], newest: ["mistral"] };

const { positionals, values } = parseArgs({ options: { folder: { type: "string" } }, allowPositionals: true });
const [wanted] = positionals;
if (!Object.hasOwn(withoutTextsBesideCalls, wanted ?? "")) {
  process.stderr.write("Usage: npm run check:wire:adapters -- lowest|newest [--folder <folder that keeps them>]\n");
  process.exit(2);
}
const report = await withFolder(values.folder, async (folder) => {
  const version = (name) => (wanted === "newest" ? "latest" : (lowestAdapters[name] ?? "1.0.6"));
  const packages = [...Object.keys(lowestAdapters), "langchain"].map((name) => `${name}@${version(name)}`);
  await install(folder, { packages, program: "tools/testkit/wire-matrix/main.ts" });
  return JSON.parse(linesOf(folder, ["--report"]).at(-1));
});
// Of models in sight, and of those that are not.
const isReady = (cell) => cell.startsWith("toModel/") || cell.startsWith("hidden/");
const invalid = report.failing.filter((cell) => isReady(cell) && !isListed(cell) && !isUnread(cell));
const lost = Object.entries(report.replays.lost).flatMap(([cell, texts]) => {
  if (isUnread(cell.replace("hidden: ", "hidden/"))) {
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

/** Cells that fail with the lockfile's adapters too, as `hidden/source > target/operation: cause`. */
function isListed(cell) {
  const { hidden } = JSON.parse(readFileSync("__tests__/wire/failing-cells.json", "utf8"));
  return Object.entries(hidden).some(([cause, pairs]) =>
    Object.entries(pairs).some(([pair, operations]) =>
      operations.some((operation) => cell === `hidden/${pair}/${operation}: ${cause}`),
    ),
  );
}

/** ChatOpenAI before 1.1 and ChatBedrockConverse before 1.2 do not read the calls behind ChatGoogle's answers. */
function isUnread(cell) {
  return wanted === "lowest" && /^hidden\/google(?:-v1)? > (?:openai|responses|deepseek|bedrock)/.test(cell);
}

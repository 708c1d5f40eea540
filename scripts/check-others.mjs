// Sends the answers of every source through chat models of LangChain's that have no adapter here, at their newest
// versions, and prints what their requests lack. Installs them in a temporary folder.
//
// Usage: npm run check:wire:others -- [--folder <folder that keeps them>]
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { locked, lowestAdapters } from "./peer-sets.mjs";

const { values } = parseArgs({ options: { folder: { type: "string" } } });
const others = ["google-vertexai", "groq", "xai", "ollama", "openrouter", "cohere", "cloudflare", "cerebras"];
const folder = values.folder === undefined ? mkdtempSync(join(tmpdir(), "others-")) : resolve(values.folder);
try {
  await install();
  const found = play();
  for (const { className, profile, wrong } of found) {
    console.log(`${className}: ${profile}, ${wrong.length === 0 ? "nothing is wrong" : wrong.join("; ")}`);
  }
  process.exitCode = found.length === others.length && found.every(({ wrong }) => wrong.length === 0) ? 0 : 1;
} finally {
  if (values.folder === undefined) {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function install() {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const names = [...Object.keys(lowestAdapters), ...others.map((name) => `@langchain/${name}`)];
  const packages = [...names.map((name) => `${name}@latest`), locked("zod"), locked("js-tiktoken")];
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  execFileSync("npm", ["install", ...options, ...packages], { cwd: folder, stdio: "inherit" });
  await build({
    entryPoints: [resolve("testkit/wire-others/main.ts")],
    outfile: join(folder, "others.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "warning",
  });
}

/** The reports, one a class. Some classes print to the console themselves. */
function play() {
  const options = { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 26, stdio: ["ignore", "pipe", "ignore"] };
  const lines = execFileSync(process.execPath, ["others.mjs"], options).split("\n");
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
}

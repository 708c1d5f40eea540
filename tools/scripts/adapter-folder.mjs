// A folder with packages of LangChain's adapters and a bundled program of the testkit that loads them from there.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { locked } from "./peer-sets.mjs";

/** Calls `work` with a folder: the named one, which is kept, else a temporary one, which is removed. */
export async function withFolder(named, work) {
  const folder = named === undefined ? mkdtempSync(join(tmpdir(), "adapters-")) : resolve(named);
  try {
    return await work(folder);
  } finally {
    if (named === undefined) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** Installs packages in the folder, and bundles a program there as `program.mjs`. */
export async function install(folder, { packages, program }) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  const all = [...packages, locked("zod"), locked("js-tiktoken")];
  execFileSync("npm", ["install", ...options, ...all], { cwd: folder, stdio: "inherit" });
  await build({
    entryPoints: [resolve(program)],
    outfile: join(folder, "program.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "warning",
  });
}

/** The lines that the program prints. Adapters warn and print to the console themselves. */
export function linesOf(folder, args = []) {
  const options = { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 26, stdio: ["ignore", "pipe", "ignore"] };
  return execFileSync(process.execPath, ["program.mjs", ...args], options)
    .trimEnd()
    .split("\n");
}

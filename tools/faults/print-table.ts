/** Prints the table of docs/development/fault-runs.md from files that hold what runs printed with `--json`. */
import { readFileSync } from "node:fs";
import { markdownTable } from "./markdown-table.js";
import type { Figures } from "./report.js";

const runs = process.argv.slice(2).map((file) => {
  const line = readFileSync(file, "utf8")
    .split("\n")
    .find((text) => text.startsWith("{"));
  if (line === undefined) {
    throw new Error(`${file} holds no line that begins with "{".`);
  }
  return JSON.parse(line) as Figures;
});
process.stdout.write(`${markdownTable(runs)}\n`);

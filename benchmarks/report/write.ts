import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { requireRedisServer } from "../../__tests__/support/redis-binary.js";
import { headlineText, reportText } from "./markdown.js";
import { plot } from "./plot.js";
import type { Section } from "./section.js";

const readme = fileURLToPath(new URL("../../README.md", import.meta.url));
const [begin, end] = ["<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"];

/** Writes the report, the plot and the numbers; returns the folder. */
export function writeResults(folder: string, sections: readonly Section[]): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/results.md`, reportText(sections, machine()));
  writeFileSync(`${folder}/results.svg`, plot(sections.flatMap(({ charts = [] }) => charts)));
  return folder;
}

/** Replaces the table between the README's two markers. */
export function writeReadme(sections: readonly Section[]): void {
  const text = readFileSync(readme, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) {
    throw new Error(`README.md has no ${begin} … ${end}.`);
  }
  const table = headlineText(
    sections.flatMap(({ headlines = [] }) => headlines),
    machine(),
  );
  writeFileSync(readme, `${text.slice(0, from + begin.length)}\n${table}\n${text.slice(to)}`);
}

function machine(): string {
  const version = /v=(\S+)/.exec(execFileSync(requireRedisServer(), ["--version"], { encoding: "utf8" }))?.[1] ?? "?";
  return (
    `Medians of one run on ${availableParallelism()} cores, Node.js ${process.versions.node}, Redis ` +
    `${version}; all contenders in turn, on the same data and server.`
  );
}

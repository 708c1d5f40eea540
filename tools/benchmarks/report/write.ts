import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { requireRedisServer } from "../../testkit/servers/redis-binary.js";
import { headlineText, pageText, reportText } from "./markdown.js";
import { picturesOf, writePictures } from "./pictures.js";
import type { Section } from "./section.js";

const prettier = new URL("../../../node_modules/prettier/bin/prettier.cjs", import.meta.url);

/** Writes the report and its pictures; returns the folder. */
export async function writeResults(folder: string, sections: readonly Section[]): Promise<string> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/results.md`, reportText(sections, machine()));
  await writePictures(folder, sections.flatMap(picturesOf));
  return folder;
}

/** Writes a page of its own on one section, with its pictures; returns its text. */
export async function writePage(folder: string, name: string, section: Section): Promise<string> {
  const text = pageText(section, `${machineText()}.`);
  writeFileSync(`${folder}/${name}.md`, text);
  await writePictures(folder, picturesOf(section));
  return text;
}

/** Replaces the tables of headlines: all of them in docs/figures.md, some in the README. */
export function writeHeadlines(sections: readonly Section[]): void {
  const all = sections.flatMap(({ headlines = [] }) => headlines);
  const tables = { "README.md": all.filter(({ inReadme }) => inReadme), "docs/figures.md": all };
  for (const [path, headlines] of Object.entries(tables)) {
    const table = headlineText(headlines, machine());
    writeBetween(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), "benchmarks", `\n${table}\n`);
  }
}

/** Replaces the figures of docs/development/capacity.md; returns its path. */
export function writeCapacity(text: string): string {
  const path = fileURLToPath(new URL("../../../docs/development/capacity.md", import.meta.url));
  writeBetween(path, "capacity", `\n\nMeasured on ${machineText()}.\n\n${text}\n\n`);
  return path;
}

/** Replaces the table of long sessions in docs/development/capacity.md; returns its path. */
export function writeLongSessions(table: string): string {
  const path = fileURLToPath(new URL("../../../docs/development/capacity.md", import.meta.url));
  writeBetween(path, "long-sessions", `\n\nMeasured on ${machineText()}.\n\n${table}\n\n`);
  return path;
}

function writeBetween(path: string, name: string, content: string): void {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const text = readFileSync(path, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) {
    throw new Error(`${path} has no ${begin} … ${end}.`);
  }
  writeFileSync(path, `${text.slice(0, from + begin.length)}${content}${text.slice(to)}`);
  execFileSync(process.execPath, [fileURLToPath(prettier), "--write", path]);
}

function machine(): string {
  return `Medians of one run on ${machineText()}; all contenders in turn, on the same data and server.`;
}

function machineText(): string {
  const version = /v=(\S+)/.exec(execFileSync(requireRedisServer(), ["--version"], { encoding: "utf8" }))?.[1] ?? "?";
  return `${availableParallelism()} cores, Node.js ${process.versions.node}, Redis ${version}`;
}

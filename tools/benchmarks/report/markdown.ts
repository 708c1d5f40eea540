import { pictureText, picturesOf } from "./pictures.js";
import type { Headline, Section, Table, Target } from "./section.js";

/** The whole report. */
export function reportText(sections: readonly Section[], machine: string): string {
  const targets = sections.flatMap((section) => section.targets ?? []);
  const parts = [
    "# Results",
    machine,
    "Pages of their own: [a long life](long-life.md), [capacity](../../../docs/development/capacity.md), and " +
      "[what was tried](processor-time.md) where targets for processor time, reads and imports are missed.",
    "## Targets",
    tableText(targetTable(targets)),
    ...sections.map(sectionText),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A page of its own on one section. */
export function pageText(section: Section, machine: string): string {
  const { title, about, tables, targets = [] } = section;
  const pictures = picturesOf(section).map((picture) => pictureText(picture));
  const parts = [`# ${title}`, machine, about, tableText(targetTable(targets)), ...pictures, ...tables.map(tableText)];
  return `${parts.join("\n\n")}\n`;
}

/** A table of headlines. */
export function headlineText(headlines: readonly Headline[], machine: string): string {
  const rows = headlines.map(({ what, ours, others, difference }) => [what, ours, others, difference]);
  const head = ["", "this package", "@langchain/redis, @langchain/community", "difference"];
  return `${tableText({ title: "", head, rows })}\n\n${machine}`;
}

function sectionText(section: Section): string {
  const { title, about, tables } = section;
  const pictures = picturesOf(section).map((picture) => pictureText(picture));
  return [`## ${title}`, about, ...pictures, ...tables.map(tableText)].join("\n\n");
}

function targetTable(targets: readonly Target[]): Table {
  return {
    title: "",
    head: ["", "wanted", "measured", "holds"],
    rows: targets.map(({ what, wanted, got, holds }) => [what, wanted, got, holds ? "yes" : "**no**"]),
  };
}

/** A table as Markdown. */
export function tableText({ title, head, rows }: Table): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return [...(title === "" ? [] : [`**${title}**`, ""]), ...lines].join("\n");
}

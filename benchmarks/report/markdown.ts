import type { Headline, Section, Table, Target } from "./section.js";

/** The whole report. */
export function reportText(sections: readonly Section[], machine: string): string {
  const targets = sections.flatMap((section) => section.targets ?? []);
  const parts = [
    "# Results",
    machine,
    "![Times by size](results.svg)",
    "## Targets",
    tableText(targetTable(targets)),
    ...sections.map(sectionText),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** The table for the README. */
export function headlineText(headlines: readonly Headline[], machine: string): string {
  const rows = headlines.map(({ what, ours, others, difference }) => [what, ours, others, difference]);
  const head = ["", "this package", "@langchain/redis, @langchain/community", "difference"];
  return `${tableText({ title: "", head, rows })}\n\n${machine}`;
}

function sectionText({ title, about, tables }: Section): string {
  return [`## ${title}`, about, ...tables.map(tableText)].join("\n\n");
}

function targetTable(targets: readonly Target[]): Table {
  return {
    title: "",
    head: ["", "wanted", "measured", "holds"],
    rows: targets.map(({ what, wanted, got, holds }) => [what, wanted, got, holds ? "yes" : "**no**"]),
  };
}

function tableText({ title, head, rows }: Table): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return [...(title === "" ? [] : [`**${title}**`, ""]), ...lines].join("\n");
}

import { arms, type MatrixReport, runMatrix } from "./matrix.js";
import { keptTable } from "./kept.js";
import { replayReport } from "./replays.js";
import { measuredBefore, operations } from "./operations.js";
import { sources, targets } from "./adapters.js";

// Sends the matrix of requests, and prints it as tables; with `--json`, the failing cells by cause; with `--kept`, the
// table of docs/providers.md instead; with `--replays`, what becomes of untouched answers; with `--report`, these three
// in one line of JSON.
// `--conversations <n>` sets the number of conversations a cell.

const { argv } = process;
if (argv.includes("--kept")) {
  process.stdout.write(`\n${await keptTable()}`);
  process.exit(0);
}
if (argv.includes("--replays")) {
  process.stdout.write(`\n${JSON.stringify(await replayReport(), undefined, 2)}\n`);
  process.exit(0);
}
if (argv.includes("--report")) {
  const failing = byCause(await runMatrix({ conversations: 1 }));
  const report = { failing, kept: await keptTable(), replays: await replayReport() };
  process.stdout.write(`\n${JSON.stringify(report)}\n`);
  process.exit(0);
}
const conversations = argv.includes("--conversations") ? Number(argv[argv.indexOf("--conversations") + 1]) : 1;
const report = await runMatrix({ conversations });
process.stdout.write(argv.includes("--json") ? `${JSON.stringify(byCause(report), undefined, 2)}\n` : tables(report));
process.exit(0);

/** The operations that fail, by arm, cause, and `source > target`. */
function byCause({ failing }: MatrixReport): Record<string, Record<string, Record<string, string[]>>> {
  const found: Record<string, Record<string, Record<string, string[]>>> = {};
  for (const { arm, source, target, operation, cause } of failing) {
    const pairs = ((found[arm] ??= {})[cause] ??= {});
    (pairs[`${source} > ${target}`] ??= []).push(operation);
  }
  return found;
}

function tables({ cells, failing }: MatrixReport): string {
  const lines: string[] = [];
  const before = new Set(operations.slice(0, measuredBefore).map(({ name }) => name));
  for (const arm of arms) {
    const failed = failing.filter((cell) => cell.arm === arm);
    const early = failed.filter(({ operation }) => before.has(operation)).length;
    const measured = sources().length * targets().length * measuredBefore;
    lines.push("", `${arm}: ${cells - failed.length} of ${cells} cells are valid`);
    lines.push(`(of the first ${measuredBefore} operations: ${measured - early} of ${measured})`, "");
    const names = targets().map(({ name }) => name);
    lines.push(`| source | ${names.join(" | ")} |`, `| --- |${" --- |".repeat(names.length)}`);
    for (const { name: source } of sources()) {
      const counts = names.map(
        (target) =>
          operations.length - failed.filter((cell) => cell.source === source && cell.target === target).length,
      );
      lines.push(`| ${source} | ${counts.join(" | ")} |`);
    }
    const causes = new Map<string, number>();
    failed.forEach(({ cause }) => causes.set(cause, (causes.get(cause) ?? 0) + 1));
    lines.push("", "| cause | cells |", "| --- | --- |");
    [...causes].sort(([, a], [, b]) => b - a).forEach(([cause, count]) => lines.push(`| ${cause} | ${count} |`));
  }
  return `${lines.join("\n")}\n`;
}

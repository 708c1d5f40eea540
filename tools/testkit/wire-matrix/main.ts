import { arms, matrixCell, type MatrixReport, runMatrix } from "./matrix.js";
import { keptTable } from "./kept.js";
import { leakReport } from "./leaks.js";
import { mediaReport } from "./media.js";
import { replayReport } from "./replays.js";
import { measuredBefore, operations } from "./operations.js";
import { sources, targets } from "./adapters.js";
import { universalReport } from "./universal.js";

// Sends the matrix of requests, and prints it as tables; with `--json`, the failing cells by cause; with `--kept`, the
// table of docs/providers.md instead; with `--replays`, what becomes of untouched answers. With `--report`, one line of
// JSON has these, what becomes of the user's media, and what redacted answers leave behind. `--parts 0,2` plays two
// parts of the cells, `--conversations <n>` sets the number of conversations a cell, `--arm <name>` plays one arm.

const { argv } = process;
const valueOf = (option: string) => (argv.includes(option) ? argv[argv.indexOf(option) + 1] : undefined);
const conversations = Number(valueOf("--conversations") ?? 1);
await print(await asked());
process.exit(0);

/** Ends when the text is written: a pipe takes a long one in parts, and what waits is lost with the process. */
function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

async function asked(): Promise<string> {
  if (argv.includes("--kept")) {
    return `\n${await keptTable()}`;
  }
  if (argv.includes("--replays")) {
    return `\n${JSON.stringify(await replayReport(), undefined, 2)}\n`;
  }
  if (argv.includes("--report")) {
    return `\n${await wholeReport()}\n`;
  }
  const arm = arms.find((name) => name === valueOf("--arm"));
  const report = await runMatrix({ conversations, ...(arm && { arms: [arm] }) });
  return argv.includes("--json") ? `${JSON.stringify(byCause(report), undefined, 2)}\n` : tables(report);
}

async function wholeReport(): Promise<string> {
  const matrix = await runMatrix({ conversations, parts: valueOf("--parts")?.split(",").map(Number) });
  const failing = matrix.failing.map((cell) => `${matrixCell(cell)}: ${cell.cause}`);
  const parts = { kept: await keptTable(), replays: await replayReport(), media: await mediaReport() };
  const leaks = await leakReport();
  return JSON.stringify({ played: matrix.played, failing, ...parts, leaks, universal: await universalReport() });
}

/** The operations that fail, by arm, cause, and `source > target`. */
function byCause({ failing }: MatrixReport): Record<string, Record<string, Record<string, string[]>>> {
  const found: Record<string, Record<string, Record<string, string[]>>> = {};
  for (const { arm, source, target, operation, cause } of failing) {
    const pairs = ((found[arm] ??= {})[cause] ??= {});
    (pairs[`${source} > ${target}`] ??= []).push(operation);
  }
  return found;
}

function tables({ played, failing }: MatrixReport): string {
  const playedArms = arms.filter((arm) => played.some((cell) => cell.startsWith(`${arm}/`)));
  const cells = played.length / playedArms.length;
  const lines: string[] = [];
  const before = new Set(operations.slice(0, measuredBefore).map(({ name }) => name));
  for (const arm of playedArms) {
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

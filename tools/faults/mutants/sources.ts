/**
 * Changes single places of the TypeScript of stores, sessions and turns, and sees that tests notice. Needs
 * `npm install --no-save @stryker-mutator/instrumenter@10.1.1`, then
 * `npx tsx tools/faults/mutants/sources.ts --folder FOLDER --seed 1 --minutes 60`. The folder keeps the
 * verdicts, a line of JSON for each mutant, and none is asked for again.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { randomOf } from "../../testkit/random.js";
import { startRedis } from "../../testkit/servers/redis-server.js";
import { Coverage, type CoveredFile } from "./source-coverage.js";
import { sourceMutantsOf, type SourceMutant } from "./source-mutants.js";
import { Tester } from "./source-tester.js";

/** `lost`: the process with the change hung or died. */
type Verdict = "killed" | "timeout" | "lost" | "survived" | "unreached";

interface JudgedMutant extends SourceMutant {
  readonly verdict: Verdict;
  readonly by?: string;
  readonly files: number;
  /** Files of tests that reach it and were left out, because the others took too long. */
  readonly left: number;
  readonly ms: number;
}

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: ".cache/mutants" },
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "60" },
    seconds: { type: "string", default: "3" },
    tests: { type: "string", default: "." },
    only: { type: "string", default: "" },
  },
});
const root = join(import.meta.dirname, "../../..");
const tracked = (...paths: string[]) =>
  execFileSync("git", ["ls-files", ...paths], { cwd: root, encoding: "utf8" })
    .trim()
    .split("\n");
const folder = values.folder;
const cache = join(folder, "compiled");
mkdirSync(cache, { recursive: true });
const sources = tracked("src/store/contract", "src/memory/session", "src/memory/turns").filter((file) =>
  file.endsWith(".ts"),
);
const { mutants, texts } = await sourceMutantsOf(root, sources);
const textsFile = join(folder, "texts.json");
writeFileSync(textsFile, JSON.stringify(texts));

const redis = await startRedis();
process.env["TEST_REDIS_URL"] = redis.url;
const end = performance.now() + Number(values.minutes) * 60_000;
const coverage = new Coverage(await coveredFiles());
const results = join(folder, "mutants.jsonl");
const known = new Set(judgedSoFar().map(({ id }) => id));
judgedSoFar().forEach((judged) => judged.by !== undefined && coverage.killed(judged, judged.by.split(":")[0]!));
const tester = new Tester({ root, texts: textsFile, cache, mode: "mutants", silenceMs: 8_000 });
for (const mutant of drawn()) {
  if (performance.now() > end) {
    break;
  }
  const judged = await judge(mutant);
  appendFileSync(results, `${JSON.stringify(judged)}\n`);
}
tester.stop();
await redis.stop();
process.stdout.write(`${summaryOf(judgedSoFar())}\n`);

/** The last word on each. */
function judgedSoFar(): JudgedMutant[] {
  return [...new Map(linesOf<JudgedMutant>(results).map((judged) => [judged.id, judged])).values()];
}

function drawn(): SourceMutant[] {
  const isWanted = ({ id, file, line }: SourceMutant) =>
    values.only === "" ? !known.has(id) : new RegExp(values.only).test(`${file}:${line} ${id}`);
  return randomOf(Number(values.seed), "source-mutants").shuffled(mutants).filter(isWanted);
}

/** The changes that each file of tests reaches, from a run without any change. */
async function coveredFiles(): Promise<CoveredFile[]> {
  const path = join(folder, "coverage.jsonl");
  const before = new Set(linesOf<CoveredFile>(path).map(({ file }) => file));
  const covering = new Tester({ root, texts: textsFile, cache, mode: "covers", silenceMs: 30_000 });
  for (const file of tracked("__tests__").filter((name) => /(?<!browser|types)\.test\.ts$/.test(name))) {
    if (!before.has(file) && new RegExp(values.tests).test(file)) {
      const first = await covering.run({ file, timeoutMs: 60_000 }, 60_000);
      // The second time, modules are loaded and compiled.
      const isQuick = first !== "lost" && first.ms < 3_000;
      const tested = isQuick ? await covering.run({ file, timeoutMs: 60_000 }, 60_000) : first;
      appendFileSync(path, `${JSON.stringify({ file, ...(tested === "lost" ? { failed: "lost" } : tested) })}\n`);
    }
  }
  covering.stop();
  return linesOf<CoveredFile>(path);
}

async function judge(mutant: SourceMutant): Promise<JudgedMutant> {
  const start = performance.now();
  const plan = coverage.planFor(mutant);
  let left = Number(values.seconds) * 1_000;
  const base = (files: number) => ({
    ...mutant,
    files,
    left: plan.length - files,
    ms: Math.round(performance.now() - start),
  });
  for (const [index, { file, only, ms, hits }] of plan.entries()) {
    if (index > 0 && ms > left) {
      return { ...base(index), verdict: "survived" };
    }
    left -= ms;
    const request = { file, only, mutant: mutant.id, timeoutMs: 3_000 + 10 * ms, hitLimit: 1_000 + 100 * hits };
    const tested = await tester.run(request, 10_000 + 20 * ms);
    if (tested === "lost" || tested.failed !== undefined) {
      coverage.killed(mutant, file);
      const verdict = tested === "lost" ? "lost" : tested.timedOut ? "timeout" : "killed";
      return {
        ...base(index + 1),
        verdict,
        by: `${file}: ${tested === "lost" ? "" : (tested.failed ?? "").slice(0, 200)}`,
      };
    }
  }
  return { ...base(plan.length), verdict: plan.length === 0 ? "unreached" : "survived" };
}

function summaryOf(judged: readonly JudgedMutant[]): string {
  const count = (verdict: Verdict) => judged.filter((each) => each.verdict === verdict).length;
  const verdicts = ["killed", "timeout", "lost", "survived", "unreached"] as const;
  const counts = verdicts.map((verdict) => `${verdict} ${count(verdict)}`).join(", ");
  return `${judged.length} of ${mutants.length} mutants: ${counts}`;
}

function linesOf<T>(path: string): T[] {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as T]));
}

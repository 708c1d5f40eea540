/**
 * Changes single places of the Lua scripts of sessions, and sees which tests notice:
 * `tsx tools/faults/mutants/main.ts --seed 1 --minutes 60 --state FOLDER`. The verdicts are kept in the folder, so that
 * a run goes on where the last one ended. `--again` judges the survivors once more, by all tests that reach them, or by
 * those of files that `--tests PATTERN` names.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { randomOf } from "../../testkit/random.js";
import { Judge } from "./judge.js";
import { inOrder } from "./order-tests.js";
import { knownTests, placedMutants, type KnownTest, type PlacedMutant } from "./known-tests.js";

interface Verdict {
  readonly id: string;
  readonly verdict: "killed" | "hangs" | "survived" | "unreached";
  readonly by?: string;
  readonly tests: number;
  readonly ms: number;
}

const { values } = parseArgs({
  options: {
    ...{ seed: { type: "string", default: "1" }, minutes: { type: "string", default: "60" } },
    ...{
      state: { type: "string", default: join(tmpdir(), "lcmem-mutants") },
      again: { type: "boolean", default: false },
      tests: { type: "string", default: "" },
    },
  },
});
/** The tests that reach a mutant are tried in steps, the first ones first; the sum of their times is bounded. */
const [steps, budget] = values.again ? ([[8, 32, Infinity], 120_000] as const) : ([[6, 30, Infinity], 3_000] as const);
const root = join(import.meta.dirname, "../../..");
mkdirSync(values.state, { recursive: true });
const verdictsFile = join(values.state, "verdicts.jsonl");
const { mutants, texts } = placedMutants(root);
const wanted = new RegExp(values.tests);
const known = await knownTests(root, join(values.state, "tests.json"), texts);
const tests = known.filter(({ file }) => wanted.test(file));
const msOf = new Map(tests.map(({ name, ms }) => [name, ms]));
/** A worker that starts has no test yet. */
const judge = new Judge((name) => (name === "" ? 120_000 : 10_000 + 10 * (msOf.get(name) ?? 500)));
const reaching = grouped(
  tests.flatMap((test) => test.reached.map((probe) => ({ test, probe }))),
  ({ probe }) => probe,
);
const probesOf = new Map([...grouped(mutants, ({ file }) => file)].map(([file, of]) => [file, probeSet(of)]));
const orders = new Map<number, KnownTest[]>();
const verdicts = new Map<string, Verdict>();
/** How often a test killed a mutant of a file. */
const kills = new Map<string, number>();
readVerdicts().forEach(take);

const drawn = randomOf(Number(values.seed), "mutants")
  .shuffled(mutants)
  .filter(({ id }) =>
    values.again ? /^(survived|unreached)$/.test(verdicts.get(id)?.verdict ?? "") : !verdicts.has(id),
  );
const end = performance.now() + Number(values.minutes) * 60_000;
try {
  for (const mutant of drawn) {
    if (performance.now() > end) {
      break;
    }
    const verdict = await judged(mutant);
    take(verdict);
    appendFileSync(verdictsFile, `${JSON.stringify(verdict)}\n`);
  }
} finally {
  await judge.stop();
}
report();

async function judged(mutant: PlacedMutant): Promise<Verdict> {
  const begun = performance.now();
  const candidates = candidatesOf(mutant);
  const verdict = (verdict: Verdict["verdict"], by?: string): Verdict => ({
    ...{ id: mutant.id, verdict, by, tests: candidates.length, ms: Math.round(performance.now() - begun) },
  });
  let from = 0;
  for (const count of steps) {
    const step = candidates.slice(from, from + count);
    from += step.length;
    const runs = [...grouped(step, ({ file }) => file)].map(([file, of]) => ({ file, only: of.map(nameOf) }));
    const answer =
      step.length === 0 ? [] : await judge.run({ texts: { [mutant.file]: mutant.text }, runs, probes: false });
    if (typeof answer === "string") {
      return verdict("hangs", answer);
    }
    const failed = answer.find(({ failure }) => failure !== undefined);
    if (failed !== undefined) {
      return verdict("killed", `${failed.file} ${failed.name}`);
    }
  }
  return verdict(candidates.length === 0 && values.tests === "" ? "unreached" : "survived");
}

/** The tests that reach a mutant: first those that killed most in its file, then those that add most. */
function candidatesOf({ file, probe }: PlacedMutant): KnownTest[] {
  const known =
    orders.get(probe) ??
    inOrder(
      (reaching.get(probe) ?? []).map(({ test }) => test),
      probesOf.get(file)!,
    );
  orders.set(probe, known);
  const killsOf = ({ file: of, name, ms }: KnownTest) => (kills.get(`${file} ${of} ${name}`) ?? 0) / (ms + 15);
  const best = known
    .filter((test) => killsOf(test) > 0)
    .sort((a, b) => killsOf(b) - killsOf(a))
    .slice(0, 4);
  let left = budget;
  return [...new Set([...best, ...known])].filter(({ ms }) => {
    const fits = ms + 5 <= left;
    left -= fits ? ms + 5 : 0;
    return fits;
  });
}

function readVerdicts(): Verdict[] {
  const lines = existsSync(verdictsFile) ? readFileSync(verdictsFile, "utf8").trimEnd().split("\n") : [];
  return lines.map((line) => JSON.parse(line) as Verdict);
}

function take(verdict: Verdict): void {
  verdicts.set(verdict.id, verdict);
  const [file = ""] = verdict.id.split(":");
  const killer = `src/store/redis/lua/${file} ${verdict.by}`;
  kills.set(killer, (kills.get(killer) ?? 0) + 1);
}

function grouped<T, K>(values: Iterable<T>, keyOf: (value: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value)) ?? [];
    groups.set(keyOf(value), group);
    group.push(value);
  }
  return groups;
}

function probeSet(of: readonly PlacedMutant[]): ReadonlySet<number> {
  return new Set(of.map(({ probe }) => probe));
}

function nameOf({ name }: KnownTest): string {
  return name;
}

function report(): void {
  const by = grouped(verdicts.values(), ({ verdict }) => verdict);
  const counts = [...by].map(([verdict, { length }]) => `${length} ${verdict}`);
  process.stdout.write(`${verdicts.size} of ${mutants.length} mutants: ${counts.join(", ")}\n`);
  const left = [...(by.get("survived") ?? []), ...(by.get("unreached") ?? [])].map(
    ({ id, verdict }) => `${verdict} ${id}`,
  );
  process.stdout.write(
    left
      .sort()
      .map((line) => `${line}\n`)
      .join(""),
  );
}

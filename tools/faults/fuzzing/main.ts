/**
 * Fuzzes readers: sound inputs with parts left out, doubled, moved, and replaced by words that formats are made of;
 * with `--guided` by the coverage that inputs reach, through Jazzer.js. Exits 1 with the smallest input where a reader
 * throws an error that is not the package's, or takes longer than a second.
 */
import fc from "fast-check";
import { parseArgs } from "node:util";
import { fuzzGuided, groupsOf, obstacle } from "./guided/fuzz-guided.js";
import { inputsFrom } from "./inputs.js";
import { readInTime } from "./read-in-time.js";
import { groups, targets } from "./targets.js";

const { values } = parseArgs({
  options: {
    target: { type: "string" },
    seconds: { type: "string", default: "10" },
    seed: { type: "string" },
    guided: { type: "boolean", default: false },
  },
});
const names = values.target?.split(",") ?? Object.keys(targets);
if (!names.every((name) => Object.hasOwn(targets, name)) || !/^\d+$/.test(values.seconds)) {
  process.stderr.write(`npm run fuzz -- [--target NAME,NAME] [--seconds 10] [--seed N] [--guided]\n`);
  process.stderr.write(`Targets: ${Object.keys(targets).join(", ")}\n`);
  process.exit(2);
}
const hindrance = values.guided ? obstacle() : undefined;
if (hindrance !== undefined) {
  process.stderr.write(`${hindrance}\n`);
  process.exit(2);
}
const seconds = Number(values.seconds);
const seed = values.seed === undefined ? undefined : Number(values.seed);
let isSound = true;
if (values.guided) {
  const named = Object.fromEntries(names.map((name) => [name, targets[name]!]));
  const chosen = groupsOf(values.target === undefined ? groups : { [names.join("+")]: named });
  // In processes of their own, all at once.
  isSound = (await Promise.all(chosen.map((group) => fuzzGuided(group, { seconds, seed })))).every(Boolean);
} else {
  for (const name of names) {
    isSound = (await fuzz(name)) && isSound;
  }
}
process.exit(isSound ? 0 : 1);

async function fuzz(name: string): Promise<boolean> {
  const before = process.memoryUsage().rss;
  const check = await fc.check(
    fc.asyncProperty(inputsFrom(name), async (text) => readInTime(name, text)),
    {
      numRuns: 2 ** 31 - 1,
      interruptAfterTimeLimit: seconds * 1_000,
      ...(seed !== undefined && { seed }),
    },
  );
  const grown = Math.round((process.memoryUsage().rss - before) / 2 ** 20);
  const result = check.failed
    ? `FAILED with ${JSON.stringify(check.counterexample?.[0])}: ${String(check.errorInstance)}`
    : "passed";
  process.stdout.write(`${name}: ${check.numRuns} inputs, ${grown} MB more, seed ${check.seed}: ${result}\n`);
  return !check.failed;
}

/**
 * Fuzzes readers: sound inputs with parts left out, doubled, moved, and replaced by words that formats are made of. Not
 * by coverage: the binaries of Jazzer.js 4 ask for a newer C library than many machines have. Exits 1 with the smallest
 * input where a reader throws an error that is not the package's, or takes longer than a second.
 */
import fc from "fast-check";
import { parseArgs } from "node:util";
import { inputsFrom } from "./inputs.js";
import { read, targets } from "./targets.js";

const { values } = parseArgs({
  options: { target: { type: "string" }, seconds: { type: "string", default: "10" }, seed: { type: "string" } },
});
const names = values.target === undefined ? Object.keys(targets) : [values.target];
if (!names.every((name) => Object.hasOwn(targets, name)) || !/^\d+$/.test(values.seconds)) {
  process.stderr.write(`npm run fuzz -- [--target ${Object.keys(targets).join("|")}] [--seconds 10] [--seed N]\n`);
  process.exit(2);
}
const isSound = names.map(fuzz).every(Boolean);
process.exit(isSound ? 0 : 1);

function fuzz(name: string): boolean {
  const before = process.memoryUsage().rss;
  const check = fc.check(
    fc.property(inputsFrom(name), (text) => inTime(name, text)),
    {
      numRuns: 2 ** 31 - 1,
      interruptAfterTimeLimit: Number(values.seconds) * 1_000,
      ...(values.seed !== undefined && { seed: Number(values.seed) }),
    },
  );
  const grown = Math.round((process.memoryUsage().rss - before) / 2 ** 20);
  const result = check.failed
    ? `FAILED with ${JSON.stringify(check.counterexample?.[0])}: ${String(check.errorInstance)}`
    : "passed";
  process.stdout.write(`${name}: ${check.numRuns} inputs, ${grown} MB more, seed ${check.seed}: ${result}\n`);
  return !check.failed;
}

function inTime(name: string, text: string): void {
  const begin = process.cpuUsage();
  read(name, text);
  const { user, system } = process.cpuUsage(begin);
  if (user + system > 1_000_000) {
    throw new Error(`It took ${(user + system) / 1_000} ms.`);
  }
}

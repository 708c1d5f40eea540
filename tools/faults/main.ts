/**
 * The checker of the promises: many clients, faults drawn from a seed, and a comparison of what was acknowledged with
 * what is there. `--help` shows the options; the exit code is 1 where a figure that has to be 0 is not.
 */
import { runOptions, usage, type RunOptions } from "./options.js";
import { table } from "./report.js";
import { runOnce } from "./run.js";
import { smallestFaults } from "./shrink.js";

const args = process.argv.slice(2);
if (args.includes("--help")) {
  print(usage);
} else {
  await check(parsed());
}

function parsed(): RunOptions {
  try {
    return runOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}\n`);
    process.exit(2);
  }
}

async function check(options: RunOptions): Promise<void> {
  const report = await runOnce(options);
  print(options.json ? JSON.stringify(report.figures) : table(report));
  if (report.failed && options.json) {
    process.stderr.write(`${table(report)}\n`);
  }
  if (report.failed && options.shrink) {
    await shrink(options);
  }
  process.exit(report.failed ? 1 : 0);
}

/** Says on the error output, so that `--json` stays one object. */
async function shrink(options: RunOptions): Promise<void> {
  process.stderr.write("Looking for the smallest set of faults that fails …\n");
  const smallest = await smallestFaults(options, async (smaller) => {
    const { failed } = await runOnce(smaller);
    process.stderr.write(`  ${failed ? "fails" : "passes"} with ${smaller.only?.join(",") || "none"}\n`);
    return failed;
  });
  const { seconds, seed, topology } = options;
  const again = `--seconds ${seconds} --seed ${seed} --topology ${topology} --faults`;
  const words =
    smallest === undefined ? "It did not fail again." : `Fails with: ${again} ${smallest.join(",") || "none"}`;
  process.stderr.write(`${words}\n`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

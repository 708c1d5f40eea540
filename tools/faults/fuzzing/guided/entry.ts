/** The function that libFuzzer calls. Bundled with all readers, so that the bundle alone is instrumented. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readInTime } from "../read-in-time.js";
import { seeds } from "../seeds.js";
import { read } from "../targets.js";
import { readerOf } from "./input.js";

const names = (process.env["FUZZ_TARGETS"] ?? "").split(",");
const [findings = ".", progress = "progress.json"] = [process.env["FUZZ_FINDINGS"], process.env["FUZZ_PROGRESS"]];
const mostFindings = 20;
const found = new Set<string>();
const runs = Object.fromEntries(names.map((name) => [name, 0]));
const runsAtOnce = 5_000;
let total = 0;
let first: number | undefined;
let most = 0;

// A first call loads and compiles, which is not its input's fault.
names.forEach((name) => seeds[name]?.forEach((text) => void read(name, text)));

/** Reads the input as text. Collects failures of different kinds: the first would end it for all readers. */
export function fuzz(data: Buffer): Promise<void> | undefined {
  const { name, text } = readerOf(data, names);
  runs[name]! += 1;
  total += 1;
  if (total % runsAtOnce === 0) {
    note();
  }
  try {
    return readInTime(name, text)?.catch((error: unknown) => collect(error, name, text));
  } catch (error) {
    collect(error, name, text);
    return undefined;
  }
}

/** The runs of each reader, the CPU that all took, and the memory at the beginning, at most, and now. */
function note(): void {
  const { user, system } = process.cpuUsage();
  const now = Math.round(process.memoryUsage.rss() / 2 ** 20);
  first ??= now;
  most = Math.max(most, now);
  const megabytes = { first, most, now };
  const facts = { runs, cpuSeconds: Math.round((user + system) / 1e6), megabytes };
  writeFileSync(progress, JSON.stringify(facts, undefined, 2));
}

function collect(error: unknown, name: string, text: string): void {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const kind = [name, ...stack.split("\n").filter((line, index) => index > 0 || !/\d/.test(line))].slice(0, 4).join();
  if (!found.has(kind)) {
    found.add(kind);
    const finding = { name, text, stack };
    writeFileSync(join(findings, `${name}-${found.size}.json`), JSON.stringify(finding, undefined, 2));
  }
  if (found.size > mostFindings) {
    throw error;
  }
}

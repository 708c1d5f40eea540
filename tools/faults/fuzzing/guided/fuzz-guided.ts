import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { words } from "../inputs.js";
import { seeds } from "../seeds.js";
import type { Reader } from "../readers/reader.js";
import { read } from "../targets.js";
import { inputFor } from "./input.js";

/** Readers that are fuzzed in one process. */
export interface ReaderGroup {
  readonly label: string;
  readonly names: readonly string[];
  /** True for readers that wait for something. */
  readonly waits: boolean;
}

/** How long a target is fuzzed, and from which random seed. */
export interface GuidedRun {
  readonly seconds: number;
  readonly seed: number | undefined;
}

const here = fileURLToPath(new URL(".", import.meta.url));
const jazzer = join(here, "node_modules/@jazzer.js");
const work = fileURLToPath(new URL("../../../../.cache/fuzzing", import.meta.url));

/** Why this machine cannot fuzz by coverage, with what helps; undefined where it can. */
export function obstacle(): string | undefined {
  if (!existsSync(jazzer)) {
    return "Jazzer.js is not installed: npm ci --ignore-scripts --prefix tools/faults/fuzzing/guided";
  }
  const [command, ...args] = node(["--eval", `require(${JSON.stringify(join(jazzer, "fuzzer"))})`]);
  const { status, stderr, error } = spawnSync(command!, args, { encoding: "utf8" });
  if (status === 0) {
    return undefined;
  }
  const reason = error?.message ?? stderr;
  return reason.includes("GLIBC")
    ? "Jazzer.js needs glibc 2.38 or newer. Name in FUZZ_LIBRARIES a folder that holds a newer one: of Debian 13, " +
        "say, usr/lib/x86_64-linux-gnu of the packages libc6, libstdc++6 and libgcc-s1, unpacked."
    : `Jazzer.js cannot be loaded: ${reason}`;
}

/**
 * Fuzzes readers by libFuzzer, all in one process. True if it found nothing. The findings, the log, the runs of each
 * reader (`progress.json`) and the corpus stay in `.cache/fuzzing`; the next run goes on from that corpus.
 */
export async function fuzzGuided(group: ReaderGroup, { seconds, seed }: GuidedRun): Promise<boolean> {
  const { label, names } = group;
  const folder = join(work, label);
  const [corpus, findings] = [join(folder, "corpus"), join(folder, "findings")];
  const [bundle, dictionary] = [join(folder, "readers.cjs"), join(folder, "words.txt")];
  const [log, progress] = [join(folder, "log.txt"), join(folder, "progress.json")];
  await rm(findings, { recursive: true, force: true });
  await Promise.all([corpus, findings].map((each) => mkdir(each, { recursive: true })));
  await Promise.all([...seedsOf(names, corpus), writeFile(dictionary, wordList()), bundled(bundle)]);
  const [command, ...args] = node([
    "--max-old-space-size=512",
    ...[join(jazzer, "core/dist/cli.js"), bundle, corpus, "--fuzzEntryPoint", "fuzz", `--sync=${!group.waits}`],
    // The second that a reader may take is one of CPU, in the entry; this ends what never ends.
    ...["--includes", bundle, "--timeout", "60000", "--", `-dict=${dictionary}`, `-artifact_prefix=${findings}/`],
    ...[`-max_total_time=${seconds}`, "-max_len=4096", "-rss_limit_mb=1024", "-use_value_profile=1"],
    // By the clock of the wall, a busy machine makes any input slow.
    "-report_slow_units=60",
    ...(seed === undefined ? [] : [`-seed=${seed}`]),
  ]);
  const output = await open(log, "w");
  const own = { FUZZ_TARGETS: names.join(","), FUZZ_FINDINGS: findings, FUZZ_PROGRESS: progress };
  const env = { ...process.env, ...own };
  const child = spawn(command!, args, { env, stdio: ["ignore", "ignore", output.fd] });
  const code = await new Promise<number | null>((resolve) => void child.once("close", resolve));
  await output.close();
  const found = await readdir(findings);
  const isSound = code === 0 && found.length === 0;
  const end = isSound ? "nothing found" : `FAILED, see ${found.length === 0 ? log : join(findings, found[0]!)}`;
  process.stdout.write(`${label}: ${summaryOf(await readFile(log, "utf8"))}${end}\n`);
  return isSound;
}

/** Readers in groups, each for one process: those that wait for something are called in another way. */
export function groupsOf(groups: Readonly<Record<string, Readonly<Record<string, Reader>>>>): ReaderGroup[] {
  const waits = (name: string) => seeds[name]?.some((text) => read(name, text) !== undefined) === true;
  const all = Object.entries(groups).map(([label, readers]) => ({ label, names: Object.keys(readers) }));
  const waiting = all.flatMap(({ names }) => names.filter(waits));
  const others = all.map(({ label, names }) => ({ label, names: names.filter((name) => !waits(name)), waits: false }));
  return [...others, { label: "waiting", names: waiting, waits: true }].filter(({ names }) => names.length > 0);
}

function seedsOf(names: readonly string[], corpus: string): Promise<void>[] {
  return names.flatMap((name) =>
    (seeds[name] ?? []).map((text, index) => {
      return writeFile(join(corpus, `${name}-${index}`), inputFor(name, text, names));
    }),
  );
}

/** The command that runs Node.js, by the C library of another system where one is named. */
function node(args: readonly string[]): string[] {
  const libraries = process.env["FUZZ_LIBRARIES"];
  const loader = { x64: "ld-linux-x86-64.so.2", arm64: "ld-linux-aarch64.so.1" }[process.arch as string] ?? "";
  return libraries === undefined
    ? [process.execPath, ...args]
    : [join(libraries, loader), "--library-path", libraries, process.execPath, ...args];
}

async function bundled(outfile: string): Promise<void> {
  const format = { platform: "node", format: "cjs", target: "node20", packages: "external" } as const;
  await build({ entryPoints: [join(here, "entry.ts")], bundle: true, ...format, outfile, logLevel: "warning" });
}

/** The dictionary of libFuzzer: every byte of a word as its number. */
function wordList(): string {
  return words.map((word) => `"${Buffer.from(word).toString("hex").replace(/../g, "\\x$&")}"`).join("\n");
}

/** Runs, edges and features reached, and inputs that are kept, from libFuzzer's log. */
function summaryOf(log: string): string {
  const last = [...log.matchAll(/^#(\d+)\t\w+ +cov: (\d+) ft: (\d+) corp: (\d+)/gm)].at(-1);
  return last === undefined ? "" : `${last[1]} runs, ${last[2]} edges, ${last[3]} features, ${last[4]} inputs: `;
}

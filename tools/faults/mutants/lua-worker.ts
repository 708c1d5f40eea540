/**
 * Judges in a process of its own: `main.ts` sends jobs, each a changed text of a file of Lua and tests, and gets how
 * the tests ended. Who asks ends it where a test does not.
 */
import childProcess from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, truncateSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { Redis } from "ioredis";
import { assemble, luaFolder, luaNames, readsFrom } from "../../scripts/lua/assemble.js";
import type { Script } from "../../../src/store/redis/script.js";
import { probe, probesIn } from "./lua-probes.js";
import { loadSources } from "./load-sources.js";
import { WarmTests, type TestOutcome } from "./warm-tests.js";

/** A request of `main.ts`. */
export interface Job {
  /** Texts of files of Lua in the place of those in the project, by path from the root. */
  readonly texts: Readonly<Record<string, string>>;
  readonly runs: readonly { readonly file: string; readonly only?: readonly string[] | undefined }[];
  /** Asks which probes each test reached, and runs all tests, whatever fails. */
  readonly probes: boolean;
}

/** A test that begins, or the end of a job. */
export type Report = { readonly begins: string } | { readonly ended: readonly JudgedTest[] };

/** How a test ended, and the probes that it reached. */
export interface JudgedTest extends TestOutcome {
  readonly reached: readonly number[];
}

const root = join(import.meta.dirname, "../../..");
const require = loadSources(root);
const log = process.env["TEST_REDIS_LOG"]!;
const client = new Redis(process.env["TEST_REDIS_URL"]!);
const tests = new WarmTests(root, require);
const scripts = ["scripts", "later-scripts"].map((name) => require(join(root, luaFolder, `${name}.ts`)) as Scripts);
type Scripts = Readonly<Record<string, Script>>;
const assembled = luaNames(root, luaFolder).map((name) => ({ name, files: filesOf(name) }));
let changed: readonly string[] = [];

// The same inputs each time; a failure is not shrunk.
(require("fast-check") as typeof import("fast-check")).configureGlobal({ seed: 1, endOnFailure: true });
logServers();
process.on("disconnect", () => process.exit());
process.on("message", (job: Job) => void judge(job).then((ended) => send({ ended })));

async function judge({ texts, runs, probes }: Job): Promise<JudgedTest[]> {
  replaceScripts(texts, probes ? probe : "");
  await client.flushall();
  const ended: JudgedTest[] = [];
  for (const run of runs) {
    const reached = new Map<string, readonly number[]>();
    const before = (name: string) => {
      send({ begins: name });
      return probes && truncateSync(log);
    };
    const after = (name: string) => probes && reached.set(name, probesIn(readFileSync(log, "latin1")));
    const outcomes = await tests.run({ ...run, bail: !probes, before, after });
    ended.push(...outcomes.map((outcome) => ({ ...outcome, reached: reached.get(outcome.name) ?? [] })));
    if (!probes && outcomes.some(({ failure }) => failure !== undefined)) {
      break;
    }
  }
  return ended;
}

/** Puts texts in the place of those of the project, and back where they are no longer named. */
function replaceScripts(texts: Readonly<Record<string, string>>, front: string): void {
  const fromDisk = readsFrom(root);
  const names = Object.keys(texts);
  const affected = assembled.filter(({ files }) => [...names, ...changed].some((file) => files.has(file)));
  for (const { name } of affected) {
    const { parts } = assemble(name, (path) => texts[path] ?? fromDisk(path));
    const source = front + parts.map(({ text }) => text).join("\n");
    const sha = createHash("sha1").update(source).digest("hex");
    const field = `${name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}Script`;
    const script = scripts.find((all) => field in all)![field]!;
    Object.defineProperties(script, { source: { value: source }, sha: { value: sha } });
  }
  changed = names;
}

/** Servers that tests start write to the log too. */
function logServers(): void {
  const spawn = childProcess.spawn as (command: string, args: readonly string[], options: object) => unknown;
  const logged = (command: string, args: readonly string[], options: object) => {
    const isServer = command.endsWith("redis-server") && !args.includes("--sentinel");
    return spawn(command, isServer ? [...args, "--logfile", log] : args, options);
  };
  Object.assign(childProcess, { spawn: logged });
  syncBuiltinESMExports();
}

function filesOf(script: string): ReadonlySet<string> {
  return new Set(assemble(script, readsFrom(root)).parts.map(({ file }) => `${luaFolder}/${file}`));
}

function send(report: Report): void {
  process.send!(report);
}

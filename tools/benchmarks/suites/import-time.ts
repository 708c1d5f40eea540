import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { summarize, ratioOf, type Measured } from "../measure/statistics.js";
import { atMost, comparisonTable, digits } from "../report/format.js";
import { timeHeadline } from "../report/headlines.js";
import type { Section, Setting, Table, Target } from "../report/section.js";

const folder = fileURLToPath(new URL("..", import.meta.url));

const entries = {
  "langchain-redis-memory": "langchain-redis-memory",
  "@langchain/core/messages alone": "@langchain/core/messages",
  "langchain-redis-memory/agent": "langchain-redis-memory/agent",
  "@langchain/redis": "@langchain/redis",
  "@langchain/community ioredis": "@langchain/community/stores/message/ioredis",
};

/** Time of importing, in processes of their own, and sizes of bundles. */
export async function importSuite({ quick }: Setting): Promise<Section> {
  const [wall, cpu] = importTimes(quick ? 1 : 15);
  const against = ratioOf(cpu![0]!, cpu![1]!);
  const { table, kilobytesOf } = await bundles();
  return {
    title: "Import and bundle",
    about:
      "Each import in a new Node.js process, ES modules, the file cache warm, all entries in turn. Bundles " +
      "by esbuild, minified, for Node.js, with the peer dependencies (@langchain/*, ioredis, langchain) " +
      "left outside; js-tiktoken's encodings are split off because they are loaded when first needed. Of a bundle " +
      "in one file and one in several, in which esbuild keeps what any later part uses, that which loads less.",
    tables: [
      comparisonTable("Import", [
        { name: "time", measured: wall! },
        { name: "CPU time", measured: cpu! },
      ]),
      table,
    ],
    targets: [
      atMost(
        "processor time of an import of the main entry, against @langchain/core/messages alone",
        1.15,
        against.value,
      ),
      sizeAtMost("bundle of RedisChatMessageHistory alone", 150, kilobytesOf("RedisChatMessageHistory alone")),
      sizeAtMost("bundle of one reducer", 60, kilobytesOf("ChatHistoryTruncationReducer alone")),
    ],
    headlines: [
      timeHeadline({
        what: "import of the main entry",
        ours: wall![0]!.median,
        others: [wall![1]!.median],
        note: "@langchain/core/messages alone",
      }),
    ],
  };
}

function importTimes(rounds: number): Measured[][] {
  const names = Object.keys(entries);
  const wall = names.map((): number[] => []);
  const cpu = names.map((): number[] => []);
  for (let round = -1; round < rounds; round += 1) {
    Object.values(entries).forEach((specifier, index) => {
      const [elapsed, used] = importOnce(specifier);
      if (round >= 0) {
        wall[index]!.push(elapsed);
        cpu[index]!.push(used);
      }
    });
  }
  return [wall, cpu].map((times) => names.map((name, index) => summarize(name, times[index]!)));
}

function importOnce(specifier: string): [number, number] {
  const program = `
    const cpu = process.cpuUsage(), begin = performance.now();
    await import(${JSON.stringify(specifier)});
    const elapsed = performance.now() - begin, { user, system } = process.cpuUsage(cpu);
    process.stdout.write(JSON.stringify([elapsed, (user + system) / 1000]));
    process.exit();`;
  return JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "--eval", program], { cwd: folder, encoding: "utf8" }),
  ) as [number, number];
}

const bundled: Readonly<Record<string, string>> = {
  "langchain-redis-memory, all": 'export * from "langchain-redis-memory"',
  "RedisChatMessageHistory alone": 'export { RedisChatMessageHistory } from "langchain-redis-memory"',
  "ChatHistoryTruncationReducer alone": 'export { ChatHistoryTruncationReducer } from "langchain-redis-memory"',
  "@langchain/redis, its history alone": 'export { RedisChatMessageHistory } from "@langchain/redis"',
  "@langchain/community, its ioredis history alone":
    'export { RedisChatMessageHistory } from "@langchain/community/stores/message/ioredis"',
};

function sizeAtMost(what: string, wanted: number, size: number): Target {
  return { what, wanted: `≤ ${wanted} kB`, got: `${digits(size)} kB`, holds: size <= wanted };
}

interface Bundles {
  readonly table: Table;
  /** What a bundle loads at its start. */
  readonly kilobytesOf: (name: string) => number;
}

async function bundles(): Promise<Bundles> {
  const rows: string[][] = [];
  const sizes = new Map<string, number>();
  for (const [name, contents] of Object.entries(bundled)) {
    const [split, whole] = [await bundleOf(contents, true), await bundleOf(contents, false)];
    const atStart = Math.min(split.atStart, whole.atStart);
    sizes.set(name, atStart / 1000);
    rows.push([name, kilobytes(atStart), kilobytes(atStart === whole.atStart ? whole.total : split.total)]);
  }
  const head = ["", "loaded at start", "with what is loaded when needed"];
  return { table: { title: "Bundles", head, rows }, kilobytesOf: (name) => sizes.get(name)! };
}

/** The bytes of a bundle, and of those files that its start loads. */
async function bundleOf(
  contents: string,
  splitting: boolean,
): Promise<{ readonly atStart: number; readonly total: number }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: folder, loader: "js" },
    external: ["@langchain/core", "@langchain/core/*", "ioredis", "langchain", "@langchain/openai"],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    splitting,
    outdir: "out",
    write: false,
    metafile: true,
    logLevel: "error",
  });
  const entry = Object.keys(metafile.outputs).find((path) => path.endsWith("stdin.js"))!;
  const total = outputFiles.reduce((sum, { contents: bytes }) => sum + bytes.length, 0);
  return { atStart: loadedAtStart(metafile.outputs, entry), total };
}

type Outputs = Readonly<
  Record<
    string,
    {
      readonly bytes: number;
      readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[];
    }
  >
>;

function loadedAtStart(outputs: Outputs, entry: string, seen = new Set<string>()): number {
  if (seen.has(entry)) {
    return 0;
  }
  seen.add(entry);
  const { bytes, imports } = outputs[entry]!;
  const statics = imports.filter(({ kind, external }) => kind === "import-statement" && external !== true);
  return statics.reduce((sum, { path }) => sum + loadedAtStart(outputs, path, seen), bytes);
}

function kilobytes(bytes: number): string {
  return `${digits(bytes / 1000)} kB`;
}

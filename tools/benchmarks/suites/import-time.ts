import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { bundlers } from "../measure/bundles.js";
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
  const { table, targets } = await bundles(quick);
  return {
    title: "Import and bundle",
    about:
      "Each import in a new Node.js process, ES modules, the file cache warm, all entries in turn. Bundles are " +
      "minified, for Node.js, with the peer dependencies (@langchain/*, ioredis, langchain) left outside: what is " +
      "loaded at the start, and in brackets what is split off and loaded when first needed, js-tiktoken's encodings " +
      "among it. esbuild puts a module into a bundle with all that any part of it uses, webpack and Vite less; zod " +
      "takes 24 to 32 kB of each.",
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
        1.12,
        against.value,
      ),
      ...targets,
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

/** What is bundled, and how many kilobytes it may load at its start. */
const bundled: readonly { readonly name: string; readonly code: string; readonly limit?: number }[] = [
  ...[
    { export: "ChatHistoryTruncationReducer", limit: 45 },
    { export: "ChatHistoryToolResultReducer", limit: 45 },
    { export: "RedisChatMessageHistory", limit: 130 },
  ].map(({ export: name, limit }) => ({
    name: `${name} alone`,
    code: `export { ${name} } from "langchain-redis-memory"`,
    limit,
  })),
  { name: "langchain-redis-memory, all", code: 'export * from "langchain-redis-memory"' },
  {
    name: "@langchain/redis, its history alone",
    code: 'export { RedisChatMessageHistory } from "@langchain/redis"',
  },
  {
    name: "@langchain/community, its ioredis history alone",
    code: 'export { RedisChatMessageHistory } from "@langchain/community/stores/message/ioredis"',
  },
];

async function bundles(quick: boolean): Promise<{ readonly table: Table; readonly targets: readonly Target[] }> {
  const rows: string[][] = [];
  const targets: Target[] = [];
  for (const { name, code, limit } of quick ? bundled.slice(0, 3) : bundled) {
    const cells: string[] = [];
    for (const [bundler, sizeOf] of Object.entries(bundlers)) {
      const { atStart, total } = await sizeOf(code);
      cells.push(`${kilobytes(atStart)} (${kilobytes(total - atStart)})`);
      if (limit !== undefined) {
        const what = `bundle of ${name}, by ${bundler}`;
        targets.push({ what, wanted: `≤ ${limit} kB`, got: kilobytes(atStart), holds: atStart <= limit * 1_000 });
      }
    }
    rows.push([name, ...cells]);
  }
  return { table: { title: "Bundles", head: ["", ...Object.keys(bundlers)], rows }, targets };
}

function kilobytes(bytes: number): string {
  return `${digits(bytes / 1000)} kB`;
}

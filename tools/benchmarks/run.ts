// All benchmarks, or those named by --only=append,view. --quick: seconds instead of minutes, written nowhere that
// lasts.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startRedis } from "../testkit/servers/redis-server.js";
import type { Section, Setting } from "./report/section.js";
import { reportText } from "./report/markdown.js";
import { writeHeadlines, writeResults } from "./report/write.js";

const suites: Readonly<Record<string, () => Promise<(setting: Setting) => Promise<Section>>>> = {
  append: async () => (await import("./suites/append.js")).appendSuite,
  view: async () => (await import("./suites/view.js")).viewSuite,
  turn: async () => (await import("./suites/turn.js")).turnSuite,
  "processor-time": async () => (await import("./suites/processor-time.js")).processorTimeSuite,
  processes: async () => (await import("./suites/processes.js")).processesSuite,
  "token-cut": async () => (await import("./suites/token-cut.js")).tokenCutSuite,
  tokenizer: async () => (await import("./suites/tokenizer.js")).tokenizerSuite,
  structure: async () => (await import("./suites/structure.js")).structureSuite,
  "tokens-billed": async () => (await import("./suites/tokens-billed.js")).tokensBilledSuite,
  "window-costs": async () => (await import("./suites/window-costs.js")).windowCostsSuite,
  "redis-memory": async () => (await import("./suites/redis-memory.js")).redisMemorySuite,
  encryption: async () => (await import("./suites/encryption.js")).encryptionSuite,
  "resident-memory": async () => (await import("./suites/resident-memory.js")).residentMemorySuite,
  import: async () => (await import("./suites/import-time.js")).importSuite,
};

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false }, only: { type: "string" } } });
const chosen = values.only?.split(",") ?? Object.keys(suites);
const unknown = chosen.filter((name) => !Object.hasOwn(suites, name));
if (unknown.length > 0) {
  throw new Error(`No suite is called ${unknown.join(", ")}; there are ${Object.keys(suites).join(", ")}.`);
}

const sections: Section[] = [];
for (const name of chosen) {
  const begin = performance.now();
  // A server for each suite: none meets what another left.
  const server = await startRedis();
  try {
    sections.push(await (await suites[name]!())({ server, quick: values.quick }));
  } finally {
    await server.stop();
  }
  console.log(`${name}: ${((performance.now() - begin) / 1000).toFixed(1)} s`);
}

const whole = values.only === undefined && !values.quick;
const folder = whole ? fileURLToPath(new URL("results", import.meta.url)) : mkdtempSync(join(tmpdir(), "benchmarks-"));
await writeResults(folder, sections);
if (whole) {
  writeHeadlines(sections);
}
console.log(`\n${reportText(sections, "")}\nWritten to ${folder}.`);
// The last connection of @langchain/redis may still be closing.
process.exit();

// RedisSaver beside the other checkpointers of LangGraph: bytes, commands and times. Run it with
// `npm run checkpoints`, which installs those without their native parts; --steps and --checkpoints make it smaller.
// Only a whole run writes the page in results/.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { startRedis } from "../testkit/servers/redis-server.js";
import { keepings, keptBy } from "./measure/kept-twice.js";
import { growthOf } from "./measure/thread-growth.js";
import { readsOf, timesOfAgent } from "./measure/thread-reads.js";
import { checkpointsSection } from "./report/checkpoints-section.js";
import { writePage } from "./report/write.js";
import {
  openMemorySaver,
  openModulesSaver,
  openPostgresSaver,
  openRedisSaver,
  openSqliteSaver,
  saverNames,
} from "./setting/savers.js";

const full = { steps: 200, checkpoints: 10_000 };

const { values } = parseArgs({
  options: {
    steps: { type: "string", default: String(full.steps) },
    checkpoints: { type: "string", default: String(full.checkpoints) },
  },
});
const [steps, checkpoints] = [Number(values.steps), Number(values.checkpoints)];

const server = await startRedis();
try {
  const contenders = [
    openRedisSaver(server.url, "growth"),
    openRedisSaver(server.url, "growth", 20),
    openMemorySaver(),
    openSqliteSaver(),
    openPostgresSaver(),
    openModulesSaver(),
  ];
  const growths = [];
  for (const contender of contenders) {
    growths.push(await growthOf(contender, { steps, server }));
    await contender.close();
    console.log(`${contender.name}: ${growths.at(-1)!.points.at(-1)![1]} bytes`);
  }
  const saver = RedisSaver.fromUrl(server.url, { keyPrefix: "reads" });
  const agents = [
    await timesOfAgent(saverNames.ours, saver),
    await timesOfAgent(saverNames.memory, new MemorySaver()),
    await timesOfAgent("none", undefined),
  ];
  const reads = await readsOf(saver, [10, 1_000, checkpoints]);
  await saver.close();
  const kept = [];
  for (const keeping of keepings) {
    kept.push(await keptBy(keeping, server.url, 50));
  }
  const section = checkpointsSection({ steps, growths, agents, reads, kept });
  const whole = steps >= full.steps && checkpoints >= full.checkpoints;
  const folder = whole
    ? fileURLToPath(new URL("results", import.meta.url))
    : mkdtempSync(join(tmpdir(), "checkpoints-"));
  console.log(`${await writePage(folder, "checkpoints", section)}\nWritten to ${folder}.`);
} finally {
  await server.stop();
}

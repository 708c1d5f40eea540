// One process that lives long: a million turns over a hundred thousand sessions, with reads, reductions and expiry.
// Memory of the process and of Redis, connections and the delay of the event loop must stay flat.
// Run it with `npm run long-life`; --turns, --sessions, --at-once and --ttl (seconds) make it smaller, and Ctrl-C ends
// it early. Only a whole run writes the page in results/.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startRedis } from "../testkit/servers/redis-server.js";
import { LifeSigns } from "./measure/life-signs.js";
import { longLifeSection } from "./report/long-life-section.js";
import { writePage } from "./report/write.js";
import { Sessions } from "./setting/long-lived-sessions.js";

const full = { turns: 1_000_000, sessions: 100_000 };
const samples = 100;

const { values } = parseArgs({
  options: {
    turns: { type: "string", default: String(full.turns) },
    sessions: { type: "string", default: String(full.sessions) },
    "at-once": { type: "string", default: "8" },
    ttl: { type: "string", default: "30" },
  },
});
const size = { turns: Number(values.turns), sessions: Number(values.sessions) };
const atOnce = Number(values["at-once"]);

let warnings = 0;
process.on("warning", ({ name, message }) => {
  warnings += 1;
  console.error(`warning: ${name}: ${message}`);
});

const server = await startRedis();
const sessions = new Sessions({ url: server.url, sessionTTL: Number(values.ttl), ...size });
const signs = new LifeSigns(server.url);
let [begun, ended] = [0, 0];
let limit = size.turns;
process.once("SIGINT", () => (limit = 0));

async function play(): Promise<void> {
  while (begun < limit) {
    begun += 1;
    await sessions.turn();
    ended += 1;
    if (ended % Math.ceil(size.turns / samples) === 0) {
      const turns = ended;
      await signs.sample(turns);
      console.log(signs.lastLine());
    }
  }
}

await Promise.all(Array.from({ length: atOnce }, play));
await sessions.waitUntilExpired();
await signs.sample(ended);
const whole = ended >= full.turns && size.sessions >= full.sessions;
const folder = whole ? fileURLToPath(new URL("results", import.meta.url)) : mkdtempSync(join(tmpdir(), "long-life-"));
const section = longLifeSection({
  ...{ samples: signs.samples, counts: sessions.counts, events: sessions.events, warnings, atOnce },
  ...{ sessionTTL: Number(values.ttl), sessions: sessions.opened },
});
console.log(`\n${await writePage(folder, "long-life", section)}\nWritten to ${folder}.`);
await sessions.close();
signs.close();
await server.stop();

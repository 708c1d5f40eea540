// The README's program with an interrupt, as a reader runs it: in two processes, one after the other.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const entry = fileURLToPath(import.meta.resolve("langchain-redis-memory"));
const packageFolder = entry.slice(0, entry.lastIndexOf("dist"));
const readme = readFileSync(join(packageFolder, "README.md"), "utf8");
const block = [...readme.matchAll(/^```ts runnable\n(.*?)^```$/gms)].find(([, code]) => code.includes("RedisSaver"));
assert.ok(block, "The README has no program with RedisSaver.");
const code = block[1]
  .replace("redis://localhost:6379", `unix://${process.env.SMOKE_REDIS_SOCKET}`)
  .replace("ann-4", `smoke-${process.pid}`);
const file = join(dirname(fileURLToPath(import.meta.url)), `two-instances-${process.pid}.run.mjs`);
writeFileSync(file, code);
const run = () => execFileSync(process.execPath, [file], { encoding: "utf8" }).trim();
assert.equal(run(), "The graph waits for a human.");
assert.equal(run(), "Booked? Yes.");

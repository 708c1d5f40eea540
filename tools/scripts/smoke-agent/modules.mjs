// Bundlers take the modules one by one: each entry has the same names there as in the joined files for Node.js. The one
// for OpenTelemetry needs a package that is not installed here.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { exports } = createRequire(import.meta.url)("langchain-redis-memory/package.json");
const others = Object.entries(exports).filter(([name]) => name !== "./otel");
const entries = others.flatMap(([, { import: files }]) => files ?? []);
assert.ok(entries.length > 7);
for (const files of entries) {
  const [modules, joined] = [files.module, files.default].map((file) => new URL(`../${file}`, root()));
  const names = Object.keys(await import(joined));
  assert.ok(names.length > 0);
  assert.deepEqual(Object.keys(await import(modules)), names, files.default);
}

/** The folder of the joined files, which lies in that of all builds. */
function root() {
  return new URL("..", import.meta.resolve("langchain-redis-memory"));
}

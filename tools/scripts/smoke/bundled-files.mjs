// The package's modules are joined into a few files for Node.js: each is in one of them, so its state is shared, and
// classes go by their own names.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as imported from "langchain-redis-memory";
import * as testing from "langchain-redis-memory/testing";

const { exports } = createRequire(import.meta.url)("langchain-redis-memory/package.json");
/** A file for each entry; two for the code that they share, and some for what is loaded when it is first used. */
const mostFiles = Object.keys(exports).length + 15;
const dist = fileURLToPath(new URL("..", import.meta.resolve("langchain-redis-memory")));
for (const format of ["esm", "cjs"]) {
  const files = readdirSync(join(dist, format), { recursive: true });
  const code = files.filter((name) => name.endsWith(".js") && !/[/\\]/.test(name));
  assert.ok(code.length <= mostFiles, `${format} holds ${code.length} files`);
  assert.deepEqual(
    files.filter((name) => name.endsWith(".map")),
    [],
  );
  // There are no source maps: each class that is declared at the top level of a file stands for its module.
  const classes = code.flatMap((name) =>
    [...readFileSync(join(dist, format, name), "utf8").matchAll(/^(?:export )?class (\w+)/gm)].map(([, own]) => own),
  );
  assert.ok(classes.includes("RedisChatMemory"));
  assert.ok(classes.length > 50, `${format} declares ${classes.length} classes`);
  assert.deepEqual(
    classes.filter((name, index) => classes.indexOf(name) !== index),
    [],
  );
}

const required = createRequire(import.meta.url)("langchain-redis-memory");
for (const exports of [imported, testing, required]) {
  const classes = Object.entries(exports).filter(([, value]) => /^class\b/.test(String(value)));
  assert.deepEqual(
    classes.filter(([name, value]) => value.name !== name).map(([name]) => name),
    [],
  );
}
assert.ok(Object.values(imported).filter((value) => /^class\b/.test(String(value))).length > 15);

const thrown = (() => {
  try {
    return new imported.InMemorySessionStore({ limits: { maxMessageBytes: 0 } });
  } catch (error) {
    return error;
  }
})();
assert.match(thrown.stack, /new InMemorySessionStore \(.*dist\/esm\/\w+\.js/);

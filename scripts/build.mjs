// Two compiler runs, one per module system: the same sources, nothing bundled, so that stack traces and types point at real files.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const compile = (project) =>
  execFileSync("npx", ["--no-install", "tsc", "--project", project], { cwd: root, stdio: "inherit" });

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
compile("tsconfig.build.json");
compile("tsconfig.build.cjs.json");
// The package is "type": "module"; without this line Node would read the CommonJS build as ESM.
writeFileSync(new URL("../dist/cjs/package.json", import.meta.url), `${JSON.stringify({ type: "commonjs" })}\n`);

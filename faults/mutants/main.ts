/**
 * Changes single places of the Lua scripts in a copy of the project, and sees that the tests of stores notice:
 * `tsx faults/mutants/main.ts --seed 1 --minutes 20`. Prints a line for each mutant, and those that survived last.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { luaFolder, luaModules, luaNames, moduleFrom, readsFrom } from "../../scripts/lua/assemble.js";
import { randomOf } from "../../testkit/random.js";
import { luaMutantsOf, type LuaMutant } from "./lua-mutants.js";

/** The quicker first. */
const judges = ["property/session-store", "contract/redis-session-store"];

const { values } = parseArgs({
  options: { seed: { type: "string", default: "1" }, minutes: { type: "string", default: "20" } },
});
const root = join(import.meta.dirname, "../..");
const copy = mkdtempSync(join(tmpdir(), "lcmem-mutants-"));
const files = (["", "includes"] as const).flatMap((inside) =>
  luaNames(root, luaFolder, inside).map((name) => `${join(luaFolder, inside, name)}.lua`),
);
const all = files.flatMap((file) => luaMutantsOf(readsFrom(root)(file)).map((mutant) => ({ file, ...mutant })));
const random = randomOf(Number(values.seed), "mutants");
const drawn = all
  .map((mutant) => ({ mutant, place: random.next() }))
  .sort((a, b) => a.place - b.place)
  .map(({ mutant }) => mutant);
const end = performance.now() + Number(values.minutes) * 60_000;
const survivors: string[] = [];
let count = 0;
try {
  const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root });
  execFileSync("tar", ["--null", "-T", "-", "-cf", join(copy, "all.tar")], { cwd: root, input: tracked });
  execFileSync("tar", ["-xf", "all.tar"], { cwd: copy });
  ["node_modules", ".cache"].forEach((name) => symlinkSync(join(root, name), join(copy, name)));
  for (; count < drawn.length && performance.now() < end; count += 1) {
    judge(drawn[count]!);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
process.stdout.write(`${count} of ${all.length} mutants, ${survivors.length} survived:\n${survivors.join("\n")}\n`);

function judge({ file, line, says, text }: LuaMutant & { readonly file: string }): void {
  const read = (path: string) => (path === file ? text : readFileSync(join(root, path), "utf8"));
  for (const module of luaModules.filter((each) => each.startsWith(luaFolder))) {
    writeFileSync(join(copy, module), moduleFrom(root, module, read));
  }
  const killer = judges.find((tests) => fails(tests));
  const words = `${file.slice(luaFolder.length + 1)}:${line} ${says}`;
  process.stdout.write(`${killer ?? "SURVIVED"}: ${words}\n`);
  survivors.push(...(killer === undefined ? [words] : []));
}

function fails(tests: string): boolean {
  const jest = join(root, "node_modules/jest/bin/jest.js");
  const options = { cwd: copy, stdio: "ignore", timeout: 300_000 } as const;
  return spawnSync(process.execPath, [jest, "--bail", "--testPathPatterns", tests], options).status !== 0;
}

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { luaFolder, luaNames, readsFrom } from "../../scripts/lua/assemble.js";
import { Judge } from "./judge.js";
import { luaMutantsOf, type LuaMutant } from "./lua-mutants.js";
import { withProbes } from "./lua-probes.js";

/** A test that passes on the sources as they are, how long it takes, and the probes that it reaches. */
export interface KnownTest {
  readonly file: string;
  readonly name: string;
  readonly ms: number;
  readonly reached: readonly number[];
}

/** A mutant of a file of Lua, and the probe of its statement. */
export interface PlacedMutant extends LuaMutant {
  readonly id: string;
  readonly file: string;
  readonly probe: number;
}

/** Folders of tests whose calls reach the scripts of sessions within the process. */
const folders = [
  ...["codec", "contract", "encryption", "fault", "history-manager", "integration", "langchain", "memory", "openai"],
  ...["property", "sessions", "store", "topology", "turns"],
];
/** They start servers that the package's scripts are not replaced on, or stop the clock of the whole process. */
const leftOut = /stopped-clock|cluster|sentinel|silent-|connection-failures|killed-|oldest-server|least-|restarts|tls/;
/** The contract once more with other clients, one of which needs many servers. */
const otherClients = /ioredis 5|numbers as strings|with a Cluster/;
/** Slower tests judge nothing. */
const mostMs = 5_000;

/** All mutants of the scripts of sessions, and their texts with probes. */
export function placedMutants(root: string): { mutants: PlacedMutant[]; texts: Record<string, string> } {
  const files = (["", "includes"] as const).flatMap((inside) =>
    luaNames(root, luaFolder, inside).map((name) => join(luaFolder, inside, `${name}.lua`)),
  );
  const texts: Record<string, string> = {};
  let first = 0;
  const mutants = files.flatMap((file) => {
    const text = readsFrom(root)(file);
    const probed = withProbes(text, first);
    first += probed.count;
    texts[file] = probed.text;
    return luaMutantsOf(text).map((mutant, index) => ({
      ...mutant,
      file,
      id: `${file.slice(luaFolder.length + 1)}:${mutant.line}:${index} ${mutant.says}`,
      probe: probed.probeAt(mutant.from),
    }));
  });
  return { mutants, texts };
}

/** The tests that may judge; what each reaches is found out once for each file, and kept in `file`. */
export async function knownTests(root: string, file: string, texts: Record<string, string>): Promise<KnownTest[]> {
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as KnownTest[]) : [];
  const measured = new Set(known.map((test) => test.file));
  const others = testFiles(root).filter((path) => !measured.has(path));
  known.push(...(await measure(others, texts)));
  writeFileSync(file, JSON.stringify(known));
  return known.filter(({ name }) => !otherClients.test(name));
}

async function measure(files: readonly string[], texts: Record<string, string>): Promise<KnownTest[]> {
  const judge = new Judge(() => 60_000);
  const known: KnownTest[] = [];
  for (const file of files) {
    const plain = await judge.run({ texts: {}, runs: [{ file }], probes: true });
    const probed = typeof plain === "string" ? plain : await judge.run({ texts, runs: [{ file }], probes: true });
    if (typeof plain === "string" || typeof probed === "string") {
      process.stdout.write(`${file} hangs, and judges nothing\n`);
      continue;
    }
    const reachedBy = new Map(probed.map(({ name, reached }) => [name, reached]));
    const sound = plain
      .filter(({ failure, ms }) => failure === undefined && ms <= mostMs)
      .filter(({ name }) => !otherClients.test(name));
    known.push(...sound.map(({ name, ms }) => ({ file, name, ms, reached: reachedBy.get(name) ?? [] })));
    process.stdout.write(`${file}: ${sound.length} of ${plain.length} tests may judge\n`);
  }
  await judge.stop();
  return known;
}

function testFiles(root: string): string[] {
  return folders
    .flatMap((folder) => readdirSync(join(root, "__tests__", folder)).map((name) => join("__tests__", folder, name)))
    .filter((path) => path.endsWith(".redis.test.ts") && !leftOut.test(path));
}

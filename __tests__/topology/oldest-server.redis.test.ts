import { join } from "node:path";
import { allLeastCommands, partCommands } from "../support/least-commands.js";
import { sharedClient } from "../support/shared-redis.js";
import { packageSources } from "../support/source-tree.js";

/** The oldest server that the package promises to run on. */
const oldest = [6, 2];

/** An argument of a command as the server documents it. */
interface Argument {
  readonly since?: string;
  readonly token?: string;
  readonly arguments?: unknown[];
}

/** The server's flat list of names and values as an object. */
function fieldsOf<T>(list: unknown): T {
  const values = list as unknown[];
  return Object.fromEntries(
    values.flatMap((name, index) => (index % 2 === 0 ? [[name, values[index + 1]]] : [])),
  ) as unknown as T;
}

function isNewer(since = "1.0.0"): boolean {
  const [major = 0, minor = 0] = since.split(".").map(Number);
  return major > oldest[0]! || (major === oldest[0] && minor > oldest[1]!);
}

/** Words of a command, such as PEXPIRE's NX, that servers of the oldest version do not know. */
function newWordsIn(list: readonly unknown[], isWithinNew = false): string[] {
  return list.flatMap((item) => {
    const argument = fieldsOf<Argument>(item);
    const isNew = isWithinNew || isNewer(argument.since);
    const own = isNew && argument.token !== undefined ? [argument.token] : [];
    return [...own, ...newWordsIn(argument.arguments ?? [], isNew)];
  });
}

describe("Redis 6.2", () => {
  const client = sharedClient();

  const documented = async (names: readonly string[]) => {
    if (names.length === 0) {
      return [];
    }
    const found = fieldsOf<Record<string, unknown>>(await client.call("COMMAND", "DOCS", ...names));
    return names.map((name) => ({
      name,
      ...fieldsOf<{ since: string; arguments?: unknown[] }>(found[name.toLowerCase()] ?? []),
    }));
  };

  it("has every command that the package needs", async () => {
    const commands = await documented([...new Set([...allLeastCommands, ...Object.values(partCommands).flat()])]);
    expect(commands.filter(({ since }) => since === undefined || isNewer(since))).toEqual([]);
  });

  it("has every option of a command, and every function of Lua, that the sources name", async () => {
    const newer: string[] = [];
    const seen = new Set<string>();
    for (const { path, text } of packageSources(join(__dirname, "../.."))) {
      const named = [...text.matchAll(/(?:\bp?call\(|\bverb: )['"](\w+)['"]/g)].map(([, name]) => name!);
      const words = new Set([...text.matchAll(/['"]([A-Z]{2,})['"]/g)].map(([, word]) => word!));
      for (const command of await documented([...new Set(named)])) {
        const found = newWordsIn(command.arguments ?? []).filter((word) => words.has(word));
        newer.push(...found.map((word) => `${path}: ${command.name} ${word}`));
        seen.add(command.name.toLowerCase());
      }
      const functions = path.endsWith(".lua")
        ? /redis\.(acl_check_cmd|register_function|REDIS_\w+)|^#!/m.exec(text)
        : null;
      newer.push(...(functions === null ? [] : [`${path}: ${functions[0]}`]));
    }
    expect(newer).toEqual([]);
    expect(seen.size).toBeGreaterThan(50);
  });

  it("lacks others, which this test finds", async () => {
    const [expiry, dump] = await documented(["pexpire", "lmpop"]);
    expect(newWordsIn(expiry!.arguments!)).toEqual(["NX", "XX", "GT", "LT"]);
    expect(isNewer(dump!.since)).toBe(true);
  });
});

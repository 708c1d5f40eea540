import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { allLeastCommands, leastCommands, partCommands } from "./support/least-commands.js";
import { exportsOf, sourceProgram } from "./support/source-program.js";
import { readTree } from "./support/source-tree.js";
import { anchorsOf, documentsIn, linksOf, pathsNamed, readDocument, sourcesNamed } from "./support/markdown.js";

const root = join(__dirname, "..");
const testsOfPromises = "docs/development/tests-of-promises.md";
const documents = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs"]
  .filter((path) => existsSync(join(root, path)))
  .flatMap((path) => documentsIn(root, path));

describe("the documents", () => {
  it.each(documents)("%s links only to files and headings that exist", (path) => {
    const broken = linksOf(path, readDocument(root, path)).filter(({ file, heading }) => {
      const exists = existsSync(join(root, file));
      return !exists || (heading !== undefined && !anchorsOf(readDocument(root, file)).has(heading));
    });
    expect(broken.map(({ line, target }) => `${path}:${line} ${target}`)).toEqual([]);
  });

  it.each(documents)("%s names only files and folders that exist", (path) => {
    const named = pathsNamed(readDocument(root, path));
    expect(named.filter((name) => !existsSync(join(root, name)))).toEqual([]);
  });

  it.each(["ARCHITECTURE.md", "CONTRIBUTING.md"])("%s names only sources that exist, also without folders", (path) => {
    const folders = ["src", "cli", "testing", "tools", "__tests__"];
    const names = new Set(folders.flatMap((folder) => readTree(join(root, folder)).map((file) => basename(file.path))));
    const named = sourcesNamed(readDocument(root, path));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !names.has(name))).toEqual([]);
  });

  it.each(documents)("%s names only npm scripts that exist", (path) => {
    const { scripts } = JSON.parse(readDocument(root, "package.json")) as { scripts: Record<string, string> };
    const named = [...readDocument(root, path).matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
    const folders = [...readDocument(root, path).matchAll(/\bnpm [^`\n]*--prefix ([\w/]+)/g)].map(([, name]) => name!);
    expect(folders.filter((name) => !existsSync(join(root, name, "package.json")))).toEqual([]);
  });

  it("answer errors by httpStatusOf in each server of a guide or example, and by no map of their own", () => {
    const programs = (readdirSync(join(root, "examples"), { recursive: true }) as string[])
      .filter((name) => /^(?!.*node_modules).*\.m?tsx?$/.test(name))
      .map((name) => `examples/${name}`)
      .concat("docs/resumable-runs.md")
      .map((name) => ({ name, code: readDocument(root, name) }));
    const servers = programs // a proxy passes on the status of another server
      .filter(
        ({ code }) =>
          /writeHead\(|express\(\)|async function POST|const POST/.test(code) && !code.includes(".statusCode"),
      );
    expect(servers.length).toBeGreaterThan(5);
    const own = servers.filter(
      ({ code }) => !code.includes("httpStatusOf(error)") || /ConflictError\.isInstance/.test(code),
    );
    expect(own.map(({ name }) => name)).toEqual([]);
  });

  it("say for every promise of the README which test shows it, and every test of a topology is named", () => {
    const page = readDocument(root, testsOfPromises);
    const section = /## What is guaranteed\n([\s\S]*?)\n## /.exec(readDocument(root, "README.md"))![1]!;
    const promises = section.match(/^- \*\*/gm)!.length;
    const rows = page.split("\n").filter((line) => /^\| [^-|]*\| `(__tests__|benchmarks)\//.test(line));
    const named = new Set(rows.map((row) => row.split("|")[1]!.trim()).filter((name) => name !== ""));
    expect(named.size).toBeGreaterThanOrEqual(promises);
    const files = new Set(pathsNamed(page));
    const tests = readdirSync(join(root, "__tests__/topology")).map((name) => `__tests__/topology/${name}`);
    expect(tests.filter((path) => !files.has(path))).toEqual([]);
    expect([...files].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("name for each promise of a turn and each door a test that exists, by its title", () => {
    const section = /## One turn, at each door\n([\s\S]*?)\n## /.exec(readDocument(root, testsOfPromises))![1]!;
    const tests = [...section.matchAll(/^\|([^|]*)\|(?:[^|]*\|){5}([^|]*)\| `(__tests__[^`]+)` *\|$/gm)];
    const missing = tests.filter(([, , title, path]) => !readDocument(root, path!).includes(title!.trim()));
    expect(missing.map(([row]) => row)).toEqual([]);
    expect(tests.filter(([, promise]) => promise!.trim() !== "")).toHaveLength(14);
  });

  it("list the commands that a Redis user needs as the tests found them", () => {
    const page = readDocument(root, "docs/many-instances.md");
    const section = /## Rights of the Redis user\n([\s\S]*?)\n## /.exec(page)![1]!;
    const rows = section
      .split("\n")
      .filter((line) => line.startsWith("|"))
      .slice(2);
    const listed = rows.map((row) => [...row.replaceAll("\\|", "|").matchAll(/`([a-z|]+)`/g)].map(([, name]) => name!));
    expect(listed).toEqual([...Object.values(leastCommands), ...Object.values(partCommands)]);
  });

  it("create a Redis user with these commands and no others", () => {
    const [line] = readDocument(root, "docs/many-instances.md").match(/^redis-cli ACL SETUSER (?:.*\\\n)*.*$/m)!;
    const words = line.replaceAll(/\\\n|'/g, "").split(/ +/);
    expect(words.slice(0, words.indexOf("-@all") + 1).join(" ")).toBe(
      "redis-cli ACL SETUSER chat on >PASSWORD resetkeys ~lcmem:* resetchannels -@all",
    );
    const allowed = new Set([...allLeastCommands, ...Object.values(partCommands).flat()]);
    expect(words.slice(words.indexOf("-@all") + 1)).toEqual([...allowed].map((command) => `+${command}`));
  });

  it("list every option of a memory", () => {
    const program = sourceProgram([join(root, "src/entries/index.ts")]);
    const optionsOf = (...types: readonly string[]) =>
      exportsOf(program, join(root, "src/entries/index.ts"))
        .filter(({ name }) => types.includes(name))
        .flatMap(({ symbol }) => program.getTypeChecker().getDeclaredTypeOfSymbol(symbol).getProperties())
        .map(({ name }) => name);
    const tables = readDocument(root, "docs/options.md").match(/^\|(?:.*\n\|)*.*$/gm)!;
    const listed = tables.map((table) => [...table.matchAll(/^\| `(\w+)/gm)].map(([, name]) => name));
    expect(listed[0]!.sort()).toEqual(optionsOf("StoreSource", "MemorySettings").sort());
    expect([...new Set(listed[1])].sort()).toEqual(optionsOf("RedisStoreSettings").sort());
  });

  it("list every decision, in order, without a gap in the numbers", () => {
    const pages = documentsIn(root, "docs/decisions").filter((path) => !path.endsWith("README.md"));
    const listed = linksOf("docs/decisions/README.md", readDocument(root, "docs/decisions/README.md"));
    expect(listed.map(({ file }) => file)).toEqual(pages);
    expect(pages.map((path) => Number(/\/(\d\d)-/.exec(path)?.[1]))).toEqual(pages.map((_, index) => index + 1));
    const titles = pages.map((path) => readDocument(root, path).split("\n")[0]!.slice(2, 4));
    expect(titles).toEqual(pages.map((_, index) => String(index + 1).padStart(2, "0")));
  });
});

describe("the guides of the package", () => {
  const guides = documents.filter((path) => /^docs\/[\w-]+\.md$/.test(path));
  const counts = new Map(guides.map((path) => [path, wordsOf(readDocument(root, path))]));

  it("have at most 28,000 words together, and none more than 2,500", () => {
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    expect(all).toBeGreaterThan(15_000);
    expect(all).toBeLessThanOrEqual(28_000);
    expect([...counts].filter(([, count]) => count > 2_500)).toEqual([]);
  });

  it("have a glossary of at most twelve words", () => {
    const words = readDocument(root, "docs/glossary.md").match(/^\| \*\*/gm)!;
    expect(words.length).toBeGreaterThan(5);
    expect(words.length).toBeLessThanOrEqual(12);
  });

  it("are counted with their code, without the bars and rules of tables and lone operators", () => {
    expect(wordsOf("| a | b-c |\n| --- | --- |\n\n```ts\nconst d = e;\n```")).toBe(6);
  });
});

describe("the README", () => {
  const text = readDocument(root, "README.md");

  it("has at most 150 lines", () => {
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
  });

  it.each(["session", "turn", "transcript", "view", "reducer", "step"])(
    "says what a %s is before it uses the word",
    (word) => {
      expect(firstUse(text, word)).toMatch(new RegExp(`^(_${word}_|${word}\\*\\* \\()`));
    },
  );

  it("would be seen to use a word before its sentence", () => {
    expect(firstUse("`session`\n```ts\nsession\n```\nTwo sessions. A _session_ is …", "session")).toBe("sessions. A");
  });
});

/** The number of words, those of code included: what stands between white space and has a letter or a digit. */
function wordsOf(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** The first use of a word in the prose of a document, with the characters around it; code and links do not count. */
function firstUse(text: string, word: string): string {
  const prose = text.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`|\]\([^)]*\)/gm, "");
  return new RegExp(`_?\\b_?${word}.{0,4}`).exec(prose)?.[0] ?? "";
}

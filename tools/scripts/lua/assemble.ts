/**
 * Puts the Lua scripts of a folder together, one module for each folder. A script is a file there; what several scripts
 * share is a file in `includes/`, which itself may include others. What a folder does not have is taken from
 * `src/store/redis/lua/includes`:
 *
 *     --- @include <name>   the text of includes/<name>.lua, once in a script, behind what it includes itself
 *     --- @const <name>     <name> stands for a constant of the TypeScript sources, see constants.ts
 *
 * An indented `@include` belongs to the block in which it stands, and does not count as the script's. The comments in
 * front of the code, and indentation, are left out; lines stay lines, so that each has an origin.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { luaConstants } from "./constants.js";

/** The folder of the scripts of sessions, from the root of the project. */
export const luaFolder = "src/store/redis/lua";

/** All folders of scripts. Those of LangGraph are apart, so that only who uses them loads them. */
export const luaFolders = [luaFolder, "src/langgraph/checkpoint/lua", "src/langgraph/long-term/lua", "src/runs/lua"];

/** Scripts that every history sends. The others of sessions are loaded when first used. */
const firstScripts = ["append", "clear-session", "read-epoch", "read-view"];

/** The modules that hold the assembled scripts, from the root of the project. */
export const luaModules = [...luaFolders.map((folder) => `${folder}/scripts.ts`), `${luaFolder}/later-scripts.ts`];

const isFirst = (name: string): boolean => firstScripts.includes(name);

/** Returns the text of a file of the project, by its path from the root. */
export type ReadFile = (path: string) => string;

/** Consecutive lines of a script that come from one file of `lua/`; `line` is the number that the first has there. */
export interface ScriptPart {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** File and line from which a line of a script comes. */
export function originOf(parts: readonly ScriptPart[], line: number): string | undefined {
  const origins = parts.flatMap(({ file, line: first, text }) =>
    text.split("\n").map((_, index) => `${file}:${first + index}`),
  );
  return origins[line - 1];
}

/** A script: its name, and the parts that are sent one after the other. */
export interface AssembledScript {
  readonly name: string;
  readonly parts: readonly ScriptPart[];
}

/** A file of Lua: its leading comments, and the lines of code, the first of which has the number `first`. */
export interface LuaFile {
  readonly header: readonly string[];
  readonly lines: readonly string[];
  readonly first: number;
  readonly includes: readonly string[];
  readonly constants: readonly string[];
}

/** Reads the files of a project from its folder. */
export function readsFrom(root: string): ReadFile {
  return (path) => readFileSync(join(root, path), "utf8");
}

/** The names of all scripts of a folder, or of all includes there; a folder need not have any. */
export function luaNames(root: string, folder: string, inside: "" | "includes" = ""): string[] {
  const path = join(root, folder, inside);
  return (existsSync(path) ? readdirSync(path) : [])
    .filter((name) => name.endsWith(".lua"))
    .map((name) => name.slice(0, -".lua".length))
    .sort();
}

/** Takes a file of Lua apart. */
export function parseLua(text: string): LuaFile {
  const lines = text.trimEnd().split("\n");
  const first = lines.findIndex((line) => !line.startsWith("--") && line.trim() !== "");
  const header = lines.slice(0, first);
  const named = (kind: string) =>
    header.flatMap((line) => new RegExp(`^--- @${kind} ([\\w-]+)$`).exec(line)?.slice(1) ?? []);
  return { header, lines: lines.slice(first), first: first + 1, includes: named("include"), constants: named("const") };
}

/** The text of a file of a folder, or of the include of sessions that has its name. */
export function readLua(file: string, read: ReadFile, folder: string): string {
  try {
    return read(`${folder}/${file}.lua`);
  } catch (error) {
    if (folder === luaFolder || !file.startsWith("includes/")) {
      throw error;
    }
    return read(`${luaFolder}/${file}.lua`);
  }
}

/** Puts one script together. */
export function assemble(name: string, read: ReadFile, folder: string = luaFolder): AssembledScript {
  const parts: ScriptPart[] = [];
  const included = new Set<string>();
  const add = (file: string): void => {
    const lua = parseLua(readLua(file, read, folder));
    for (const include of lua.includes) {
      if (!included.has(include)) {
        included.add(include);
        add(`includes/${include}`);
      }
    }
    parts.push(...partsOf(file, lua, (path) => readLua(path, read, folder)));
  };
  add(name);
  return { name, parts };
}

/** The parts of one file: more than one where it includes others inside a block. */
function partsOf(file: string, { lines, first, constants }: LuaFile, readFile: ReadFile): ScriptPart[] {
  const parts: ScriptPart[] = [];
  let begin = 0;
  const end = (at: number): void => {
    const text = lines.slice(begin, at).map((line) => withValues(line.trim(), constants));
    parts.push({ file: `${file}.lua`, line: first + begin, text: text.join("\n") });
    begin = at + 1;
  };
  lines.forEach((line, at) => {
    const include = /^ +--- @include ([\w-]+)$/.exec(line)?.[1];
    if (include !== undefined) {
      end(at);
      parts.push(...partsOf(`includes/${include}`, parseLua(readFile(`includes/${include}`)), readFile));
    }
  });
  end(lines.length);
  return parts;
}

/** A line with the values of constants in the place of their names; comments go. */
function withValues(line: string, constants: readonly string[]): string {
  const [code = ""] = /^(?:[^'-]|'(?:[^'\\]|\\.)*'|-(?!-))*/.exec(line) ?? [];
  return code.trimEnd().replaceAll(/'(?:[^'\\]|\\.)*'|(?<![\w.:])[a-zA-Z]\w*/g, (word) => {
    return constants.includes(word) ? valueOf(word) : word;
  });
}

function valueOf(name: string): string {
  const value = luaConstants[name];
  if (value === undefined) {
    throw new Error(`"${name}" is no constant of tools/scripts/lua/constants.ts.`);
  }
  return typeof value === "number"
    ? String(value)
    : [value]
        .flat()
        .map((text) => `'${text}'`)
        .join(", ");
}

/** A module of scripts, and the parts in it by their names; `known` are those of the module that it imports. */
function writeModule(
  scripts: readonly AssembledScript[],
  folder: string,
  known: ReadonlyMap<string, string> = new Map(),
): { readonly text: string; readonly names: ReadonlyMap<string, string> } {
  const names = new Map<string, string>();
  const imported = new Set<string>();
  const declarations: string[] = [];
  const nameOf = (part: ScriptPart): string => {
    const key = `${part.file}:${part.line}`;
    const shared = known.get(key);
    if (shared !== undefined) {
      imported.add(shared);
      return shared;
    }
    const name = names.get(key) ?? `${camelCase(part.file.replace(/^.*\/|\.lua$/g, ""))}At${part.line}`;
    if (!names.has(key)) {
      names.set(key, name);
      declarations.push(declarationOf(name, part));
    }
    return name;
  };
  const exported = scripts.map(({ name, parts }) => {
    const list = parts.map((part) => `  ${nameOf(part)},\n`).join("");
    return `export const ${camelCase(name)}Script = script([\n${list}]);`;
  });
  const script = posix.relative(folder, "src/store/redis/script.js");
  const shared = [...imported].map((name) => `  ${name},\n`).join("");
  const imports = [
    `import { script } from "${script}";`,
    ...(shared === "" ? [] : [`import {\n${shared}} from "./scripts.js";`]),
  ].join("\n");
  const head = ["// Written by `npm run lua` from the .lua files of this folder. Change those.", imports];
  return { text: `${[...head, ...declarations, ...exported].join("\n\n")}\n`, names };
}

function declarationOf(name: string, { text }: ScriptPart): string {
  return `export const ${name} = \`\\\n${text.replaceAll(/[\\`]|\$\{/g, "\\$&")}\`;`;
}

function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The text of a module of scripts, as the sources make it. */
export function moduleFrom(root: string, module: string, read: ReadFile = readsFrom(root)): string {
  const folder = posix.dirname(module);
  const scripts = (wanted: (name: string) => boolean) =>
    luaNames(root, folder)
      .filter(wanted)
      .map((name) => assemble(name, read, folder));
  if (folder !== luaFolder) {
    return writeModule(
      scripts(() => true),
      folder,
    ).text;
  }
  const first = writeModule(scripts(isFirst), folder);
  return module === luaModules[0]
    ? first.text
    : writeModule(
        scripts((name) => !isFirst(name)),
        folder,
        first.names,
      ).text;
}

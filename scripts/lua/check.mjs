/** Finds what is wrong with the Lua scripts: their syntax, their headers, names that nothing declares. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import luaparse from "luaparse";
import { assemble, luaFolder, luaNames, parseLua, readsFrom } from "./assemble.ts";

/** What a script has from Redis and from Lua; everything else it declares as local. */
const given = new Set([
  "redis",
  "KEYS",
  "ARGV",
  "cjson",
  "math",
  "string",
  "table",
  "tonumber",
  "type",
  "ipairs",
  "pairs",
  "unpack",
]);

const fields = ["KEYS:", "Replies:", "twin:"];

/** The problems of all scripts, each as a sentence that begins with the file. */
export function problemsOf(root) {
  const read = readsFrom(root);
  const includes = luaNames(root, "includes");
  const files = [...luaNames(root), ...includes.map((name) => `includes/${name}`)];
  const used = new Set(files.flatMap((file) => everyInclude(read(`${luaFolder}/${file}.lua`))));
  return [
    ...luaNames(root).flatMap((name) => [...headerProblems(root, name, read), ...codeProblems(name, read)]),
    ...files.flatMap((file) => idleNames(file, read)),
    ...includes.filter((name) => !used.has(name)).map((name) => `includes/${name}.lua: no script includes it`),
  ];
}

function headerProblems(root, name, read) {
  const { header } = parseLua(read(`${luaFolder}/${name}.lua`));
  const lines = header.map((line) => line.replace(/^-- /, ""));
  const missing = fields.filter((field) => !lines.some((line) => line.startsWith(field)));
  const twins = lines.flatMap((line) => /^twin: (\S+)$/.exec(line)?.slice(1) ?? []);
  return [
    ...missing.map((field) => `${name}.lua: the comment in front names no ${field}`),
    ...twins.filter((twin) => !existsSync(join(root, "src", twin))).map((twin) => `${name}.lua: there is no ${twin}`),
  ];
}

function codeProblems(name, read) {
  const text = assemble(name, read)
    .parts.map((part) => part.text)
    .join("\n");
  try {
    const { globals = [] } = luaparse.parse(text, { scope: true, luaVersion: "5.1" });
    return globals
      .filter((global) => !given.has(global.name))
      .map((global) => `${name}.lua: nothing declares ${global.name}; include what does, or make it local`);
  } catch (error) {
    return [`${name}.lua, as "npm run lua ${name}" shows it: ${error.message}`];
  }
}

/** Includes and constants that a file names and does not use. */
function idleNames(file, read) {
  const { header, lines, includes, constants } = parseLua(read(`${luaFolder}/${file}.lua`));
  // What the comment names of an include is for the scripts that include that.
  const words = new Set([...header.filter((line) => !line.startsWith("---")), ...lines].join("\n").match(/\w+/g));
  const isIdle = (include) => {
    const declared = declarations(parseLua(read(`${luaFolder}/includes/${include}.lua`)).lines);
    return declared.length > 0 && !declared.some((name) => words.has(name));
  };
  return [...includes.filter(isIdle), ...constants.filter((name) => !words.has(name))].map(
    (name) => `${file}.lua: names ${name}, and does not use it`,
  );
}

function declarations(lines) {
  return lines.flatMap((line) => /^local (?:function )?([\w, ]+)/.exec(line)?.[1]?.split(", ") ?? []);
}

function everyInclude(text) {
  return [...text.matchAll(/^ *--- @include ([\w-]+)$/gm)].map(([, name]) => name);
}

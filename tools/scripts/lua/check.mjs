/** Finds what is wrong with the Lua scripts: their syntax, their headers, names that nothing declares. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import luaparse from "luaparse";
import { assemble, luaFolder, luaFolders, luaNames, parseLua, readLua, readsFrom } from "./assemble.ts";

/** What a script has from Redis and from Lua; everything else it declares as local. */
const given = new Set([
  "redis",
  "KEYS",
  "ARGV",
  "cjson",
  "math",
  "string",
  "struct",
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
  const used = new Set(luaFolders.flatMap((folder) => everyUse(root, folder, read)));
  return luaFolders.flatMap((folder) => {
    const includes = luaNames(root, folder, "includes");
    const names = luaNames(root, folder);
    return [
      ...names.flatMap((name) => [...headerProblems(root, name, read, folder), ...codeProblems(name, read, folder)]),
      ...filesOf(root, folder).flatMap((file) => idleNames(file, read, folder)),
      ...includes.filter((name) => !used.has(name)).map((name) => `includes/${name}.lua: no script includes it`),
    ];
  });
}

function filesOf(root, folder) {
  return [...luaNames(root, folder), ...luaNames(root, folder, "includes").map((name) => `includes/${name}`)];
}

function everyUse(root, folder, read) {
  return filesOf(root, folder).flatMap((file) => everyInclude(read(`${folder}/${file}.lua`)));
}

function headerProblems(root, name, read, folder) {
  const { header } = parseLua(read(`${folder}/${name}.lua`));
  const lines = header.map((line) => line.replace(/^-- /, ""));
  const missing = fields.filter((field) => !lines.some((line) => line.startsWith(field)));
  const twins = lines.flatMap((line) => /^twin: (\S+)$/.exec(line)?.slice(1) ?? []);
  return [
    ...missing.map((field) => `${name}.lua: the comment in front names no ${field}`),
    ...twins.filter((twin) => !existsSync(join(root, "src", twin))).map((twin) => `${name}.lua: there is no ${twin}`),
  ];
}

function codeProblems(name, read, folder) {
  const text = assemble(name, read, folder)
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
function idleNames(file, read, folder = luaFolder) {
  const { header, lines, includes, constants } = parseLua(read(`${folder}/${file}.lua`));
  // What the comment names of an include is for the scripts that include that.
  const words = new Set([...header.filter((line) => !line.startsWith("---")), ...lines].join("\n").match(/\w+/g));
  const isIdle = (include) => {
    const declared = declarations(parseLua(readLua(`includes/${include}`, read, folder)).lines);
    return declared.length > 0 && !declared.some((name) => words.has(name));
  };
  return [...includes.filter(isIdle), ...constants.filter((name) => !words.has(name))].map(
    (name) => `${file}.lua: names ${name}, and does not use it`,
  );
}

function declarations(lines) {
  return lines.flatMap((line) => /^local (?:function )?([\w, ]*\w)/.exec(line)?.[1]?.split(", ") ?? []);
}

function everyInclude(text) {
  return [...text.matchAll(/^ *--- @include ([\w-]+)$/gm)].map(([, name]) => name);
}

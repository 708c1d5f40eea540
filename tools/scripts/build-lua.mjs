// Writes the modules that hold the Lua scripts, beside the folders of them. With --check it writes nothing, and
// ends with 1 if a module is not up to date or a script has a problem. With the name of a script it prints that one,
// each line with its number and its origin; a number behind it shows the lines around the one that an error of Redis
// names. Works in the current folder.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { assemble, luaFolders, luaModules, moduleFrom, originOf, readsFrom } from "./lua/assemble.ts";

const root = process.cwd();
const [argument, line] = process.argv.slice(2);

if (argument === undefined) {
  luaModules.forEach((module) => writeFileSync(module, moduleFrom(root, module)));
} else if (argument === "--check") {
  await check();
} else {
  print(argument, line);
}

async function check() {
  const { problemsOf } = await import("./lua/check.mjs");
  const problems = problemsOf(root);
  for (const module of luaModules) {
    if (readFileSync(module, "utf8") !== moduleFrom(root, module)) {
      problems.push(`${module} is not up to date: run "npm run lua" and commit what it writes.`);
    }
  }
  if (problems.length > 0) {
    console.error(problems.join("\n"));
    process.exitCode = 1;
  }
}

function print(name, around) {
  const folder = luaFolders.find((place) => existsSync(`${place}/${name}.lua`));
  const { parts } = assemble(name, readsFrom(root), folder);
  const originAt = (number) => originOf(parts, number) ?? "";
  const source = parts.map(({ text }) => text).join("\n");
  const lines = source.split("\n").map((text, index) => ({ text, number: index + 1 }));
  const wanted = Number(around);
  const shown = around === undefined ? lines : lines.filter(({ number }) => Math.abs(number - wanted) <= 5);
  const width = Math.max(...shown.map(({ number }) => originAt(number).length));
  for (const { text, number } of shown) {
    const mark = number === wanted ? ">" : " ";
    console.log(`${mark}${String(number).padStart(4)}  ${originAt(number).padEnd(width)}  ${text}`);
  }
}

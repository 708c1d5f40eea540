// Writes tools/etc/api-report.txt: everything that users can import, as declarations without comments. With --check it
// writes nothing, and ends with 1 if the report is not up to date. Both end with 1 if a name differs from the last
// release (tools/etc/api-released.txt; at first: from the day on which it was begun) and CHANGELOG.md does not mention
// it under "Unreleased". Works in the current folder.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";

const reportFile = "tools/etc/api-report.txt";
const releasedFile = "tools/etc/api-released.txt";
const options = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  types: [],
  noLib: true,
  removeComments: true,
};

const report = apiReport(resolve("."));
const problems = [];
if (!process.argv.includes("--check")) {
  writeFileSync(reportFile, report);
} else if (textOf(reportFile) !== report) {
  problems.push(`${reportFile} is not up to date: run "npm run api:report" and commit what it writes.`);
}
for (const name of existsSync(releasedFile) ? unmentioned(sections(report), sections(textOf(releasedFile))) : []) {
  problems.push(`${name} differs from the last release: name it in CHANGELOG.md under "Unreleased".`);
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
}

/** The report: a section for each entry of package.json, in it one for each name, in alphabetical order. */
function apiReport(root) {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const entries = Object.entries(manifest.exports)
    .filter(([, entry]) => typeof entry !== "string")
    .map(([name, entry]) => ({ name, file: join(root, entry.import.types.replace(/^\.\/dist\/esm\//, "")) }))
    .map(({ name, file }) => ({ name: join(manifest.name, name), file: file.replace(/\.d\.ts$/, ".ts") }));
  const program = sourceProgram(entries.map(({ file }) => file));
  const declared = new Map();
  const lines = ['# Written by "npm run api:report". What users can import; a change here is a change for users.'];
  for (const { name, file } of entries) {
    lines.push("", `## ${name}`);
    for (const [exported, declaration] of declarations(program, file, declared)) {
      lines.push("", `### ${exported}`, "", ...declaration);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** A program of this package's sources only: packages are not read. */
function sourceProgram(files) {
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (literals, file) =>
    literals.map(({ text }) =>
      text.startsWith(".") ? ts.resolveModuleName(text, file, options, host) : { resolvedModule: undefined },
    );
  return ts.createProgram({ rootNames: files, options, host });
}

function declarations(program, file, declared) {
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  return checker
    .getExportsOfModule(module)
    .map((symbol) => {
      const target = (symbol.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(symbol) : symbol;
      const files = new Set((target.declarations ?? []).map((declaration) => declaration.getSourceFile()));
      return [symbol.name, [...files].flatMap((source) => declarationsOf(target.name, source, declared))];
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The lines of the declarations of a name in a file. */
function declarationsOf(name, source, declared) {
  if (!declared.has(source)) {
    const setting = { fileName: source.fileName, compilerOptions: options };
    const { outputText } = ts.transpileDeclaration(source.text, setting);
    declared.set(source, ts.createSourceFile("declared.d.ts", outputText, ts.ScriptTarget.ES2022, true));
  }
  const parsed = declared.get(source);
  return (
    parsed.statements
      .filter((statement) => namesOf(statement).includes(name))
      // A comma after the last name of a pattern says only how long its line was.
      .flatMap((statement) => statement.getText(parsed).replaceAll(", }", " }").split("\n"))
      .filter((line) => line.trim() !== "#private;")
  );
}

function namesOf(statement) {
  return ts.isVariableStatement(statement)
    ? statement.declarationList.declarations.map((declaration) => declaration.name.getText())
    : [statement.name?.getText()];
}

/** The declarations of a report by entry and name. */
function sections(text) {
  const found = new Map();
  let entry = "";
  for (const part of text.split(/^(?=##)/m).slice(1)) {
    const [title, ...lines] = part.split("\n");
    entry = title.startsWith("## ") ? title.slice(3) : entry;
    if (title.startsWith("### ")) {
      found.set(`${entry} ${title.slice(4)}`, lines.join("\n").trim());
    }
  }
  return found;
}

/**
 * Names that were added, removed or changed since the last release and that the changelog does not mention. A name that
 * only moved to another entry is mentioned where that entry is.
 */
function unmentioned(now, before) {
  const unreleased = /^## Unreleased\n(.*?)(?=^## |(?![^]))/ms.exec(textOf("CHANGELOG.md"))?.[1] ?? "";
  const changed = [...new Set([...now.keys(), ...before.keys()])].filter((key) => now.get(key) !== before.get(key));
  const moved = (from, to, key) =>
    [...to.keys()].find(
      (other) => other.split(" ").at(-1) === key.split(" ").at(-1) && to.get(other) === from.get(key),
    );
  const movedTo = (key) => (now.has(key) ? moved(now, before, key) && key : moved(before, now, key));
  const isMoved = (key) => {
    const entry = movedTo(key)?.split(" ")[0].split("/")[1];
    return entry !== undefined && unreleased.includes(`\`./${entry}\``);
  };
  const names = changed.filter((key) => !isMoved(key)).map((key) => key.split(" ").at(-1));
  // The options of a class, or what it returns, need no mention where the class has one.
  const words = (name) => [name, name.replace(/Options$/, ""), lowerFirst(name.replace(/Options$/, ""))];
  const isMentioned = (name) => words(name).some((word) => new RegExp(`(?<![\\w$])${word}(?![\\w$])`).test(unreleased));
  return [...new Set(names)].filter((name) => !isMentioned(name)).sort();
}

function lowerFirst(text) {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function textOf(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { entries } from "./support/entries.js";
import { signatureGaps } from "./support/public-signatures.js";
import { sourceProgram, withoutAlias } from "./support/source-program.js";

const root = join(__dirname, "..");
/** Types that public signatures name and no entry exports, each with the reason. TypeDoc reads the same list. */
const innerTypes: readonly { readonly reason: string; readonly types: readonly string[] }[] = JSON.parse(
  readFileSync(join(root, "tools/etc/inner-types.json"), "utf8"),
);
const program = sourceProgram(entries.map((entry) => join(root, entry)));
/** The names that tools/etc/api-report.txt shows, by entry: its sections stand in the order of package.json. */
const reported = readFileSync(join(root, "tools/etc/api-report.txt"), "utf8")
  .split(/^## /m)
  .slice(1)
  .map((section) => [...section.matchAll(/^### (.*)$/gm)].map(([, name]) => name!));

describe("the public names", () => {
  it("include every type that a public signature names", () => {
    const paths = entries.map((entry) => join(root, entry));
    const inner = innerTypes.flatMap(({ types }) => types);
    expect(signatureGaps(program, root, paths, inner)).toEqual([]);
  });

  it("leave out types only with a reason", () => {
    expect(innerTypes.filter(({ reason }) => !/^[A-Z].{20,}\.$/.test(reason))).toEqual([]);
  });

  it("are few enough to be read at a glance", () => {
    expect(Object.values(exportedNames("src/entries/index.ts")).flat().length).toBeLessThanOrEqual(114);
  });

  it.each(entries.map((entry, index) => ({ entry, index })))("of $entry are those of the API report", (at) => {
    const { values, types } = exportedNames(at.entry);
    expect([...values, ...types].sort()).toEqual(reported[at.index]);
  });

  it.each(entries)("of %s are the same at run time", async (entry) => {
    const loaded = (await import(join(root, entry))) as object;
    expect(Object.keys(loaded).sort()).toEqual(exportedNames(entry).values);
  });
});

function exportedNames(entry: string): { values: string[]; types: string[] } {
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(join(root, entry))!)!;
  const symbols = checker.getExportsOfModule(module).sort((a, b) => (a.name < b.name ? -1 : 1));
  const isValue = (symbol: ts.Symbol) =>
    (withoutAlias(checker, symbol).flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(symbol);
  return {
    values: symbols.filter(isValue).map(({ name }) => name),
    types: symbols.filter((symbol) => !isValue(symbol)).map(({ name }) => name),
  };
}

/** True for `export type { A }`, which gives users the type of a class only. */
function isTypeOnly(symbol: ts.Symbol): boolean {
  return (
    symbol.declarations?.some(
      (declaration) =>
        ts.isExportSpecifier(declaration) && (declaration.isTypeOnly || declaration.parent.parent.isTypeOnly),
    ) ?? false
  );
}

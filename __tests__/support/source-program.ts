import { join } from "node:path";
import ts from "typescript";

const options: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  types: [],
  noLib: true,
};

/** Reads the sources of this package only: the names do not depend on others, and reading those takes seconds. */
export function sourceProgram(rootNames: readonly string[]): ts.Program {
  return createProgram(rootNames, ts.createCompilerHost(options));
}

/** A program of texts by path, for tests of what reads programs. */
export function textProgram(root: string, texts: Readonly<Record<string, string>>): ts.Program {
  const byPath = new Map(Object.entries(texts).map(([path, text]) => [join(root, path), text]));
  const host = ts.createCompilerHost(options);
  host.fileExists = (path) => byPath.has(path);
  host.readFile = (path) => byPath.get(path);
  host.getSourceFile = (path, version) => {
    const text = byPath.get(path);
    return text === undefined ? undefined : ts.createSourceFile(path, text, version, true);
  };
  return createProgram([...byPath.keys()], host);
}

/** What a file exports, with what stands behind re-exports and aliases. */
export function exportsOf(program: ts.Program, file: string): { readonly name: string; readonly symbol: ts.Symbol }[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  return (module === undefined ? [] : checker.getExportsOfModule(module)).map((symbol) => ({
    name: symbol.name,
    symbol: withoutAlias(checker, symbol),
  }));
}

/** The declared symbol behind an import or a re-export. */
export function withoutAlias(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(symbol) : symbol;
}

function createProgram(rootNames: readonly string[], host: ts.CompilerHost): ts.Program {
  host.resolveModuleNameLiterals = (literals, file) =>
    literals.map(({ text }) =>
      text.startsWith(".") ? ts.resolveModuleName(text, file, options, host) : { resolvedModule: undefined },
    );
  return ts.createProgram({ rootNames, options, host });
}

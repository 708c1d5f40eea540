import { join } from "node:path";
import ts from "typescript";
import { withoutAlias } from "./source-program.js";

/** Code that shows how the package is used, with the name of a file that it could stand in. */
export interface ShownCode {
  readonly path: string;
  readonly code: string;
}

/**
 * The names of the types that code shows, by path: those that it names, and those of what it uses. A function, a
 * constructor or a method that is called shows the types of its parameters and its result; a field that is read or
 * written shows its own type, and no other field of the same object does. An alias shows what it stands for, and a
 * class or an interface what it extends.
 */
export function shownTypes(code: readonly ShownCode[], root: string): ReadonlyMap<string, ReadonlySet<string>> {
  const program = programOf(code, root);
  const sources = ["src", "testing"].map((folder) => `${join(root, folder)}/`);
  return new Map(code.map(({ path }) => [path, typesIn(program, { path, sources })]));
}

function typesIn(
  program: ts.Program,
  { path, sources }: { path: string; sources: readonly string[] },
): ReadonlySet<string> {
  const checker = program.getTypeChecker();
  const shown = new Set<ts.Declaration>();
  const isBelow = (file: string) => sources.some((folder) => file.startsWith(folder));
  const show = (symbol: ts.Symbol | undefined): void => {
    for (const declaration of (symbol && withoutAlias(checker, symbol).declarations) ?? []) {
      if (isBelow(declaration.getSourceFile().fileName) && !shown.has(declaration)) {
        shown.add(declaration);
        typesOf(declaration).forEach((name) => show(checker.getSymbolAtLocation(name)));
      }
    }
  };
  walk(program.getSourceFile(path)!, (node) => symbolsAt(checker, node).forEach(show));
  const named = [...shown].filter((declaration) => !ts.isClassElement(declaration) && !ts.isTypeElement(declaration));
  return new Set(named.map((declaration) => ts.getNameOfDeclaration(declaration)?.getText() ?? ""));
}

const unresolved: ts.ResolvedModuleWithFailedLookupLocations = { resolvedModule: undefined };

function programOf(code: readonly ShownCode[], root: string): ts.Program {
  const settings = ts.readConfigFile(join(root, "tsconfig.json"), (path) => ts.sys.readFile(path)).config as object;
  const { options } = ts.parseJsonConfigFileContent({ ...settings, include: [] }, ts.sys, root);
  const texts = new Map(code.map((shown) => [shown.path, shown.code]));
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, getSourceFile } = host;
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.getSourceFile = (path, language, ...rest) => {
    const text = texts.get(path);
    return text === undefined
      ? getSourceFile(path, language, ...rest)
      : ts.createSourceFile(path, text, language, true);
  };
  // Types of other packages are not read: no public type is found by them, and reading them takes half a minute.
  const resolve = (name: string, from: string) =>
    /^(\.|langchain-redis-memory)/.test(name) ? ts.resolveModuleName(name, from, options, host) : unresolved;
  host.resolveModuleNameLiterals = (names, from) => names.map(({ text }) => resolve(text, from));
  const rootNames = [...texts.keys()];
  return ts.createProgram({
    rootNames,
    host,
    options: { ...options, types: [], noEmit: true, jsx: ts.JsxEmit.Preserve },
  });
}

/** What a place in the code uses: a name, the field that an object literal or a pattern means, or what is called. */
function symbolsAt(checker: ts.TypeChecker, node: ts.Node): (ts.Symbol | undefined)[] {
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
    const { declaration } = checker.getResolvedSignature(node) ?? {};
    return [declaration && "symbol" in declaration ? (declaration.symbol as ts.Symbol) : undefined];
  }
  if (ts.isObjectLiteralElement(node) && node.name !== undefined) {
    return fieldsOf(checker, checker.getContextualType(node.parent as ts.Expression), node.name);
  }
  if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
    return fieldsOf(checker, checker.getTypeAtLocation(node.parent), node.propertyName ?? node.name);
  }
  return ts.isIdentifier(node) ? [checker.getSymbolAtLocation(node)] : [];
}

/** The field of this name in a type, or in each type of a union that has it. */
function fieldsOf(checker: ts.TypeChecker, type: ts.Type | undefined, name: ts.Node): (ts.Symbol | undefined)[] {
  const types = type?.isUnion() ? type.types : type === undefined ? [] : [type];
  return types.map((each) => checker.getPropertyOfType(each, name.getText()));
}

/** The names of the types in a declaration: not those of its own fields and methods. */
function typesOf(declaration: ts.Node): ts.Node[] {
  const names: ts.Node[] = [];
  const collect = (part: ts.Node | undefined) =>
    part &&
    walk(
      part,
      (node) => ts.isTypeReferenceNode(node) && names.push(node.typeName),
      (node) => !ts.isTypeElement(node),
    );
  if (ts.isClassDeclaration(declaration) || ts.isInterfaceDeclaration(declaration)) {
    for (const { expression, typeArguments } of declaration.heritageClauses?.flatMap(({ types }) => [...types]) ?? []) {
      names.push(expression);
      typeArguments?.forEach(collect);
    }
    return names;
  }
  if (ts.isTypeParameterDeclaration(declaration)) {
    collect(declaration.constraint);
  }
  if (ts.isFunctionLike(declaration)) {
    declaration.parameters.forEach(({ type }) => collect(type));
  }
  collect((declaration as { readonly type?: ts.TypeNode }).type);
  return names;
}

function walk(node: ts.Node, visit: (node: ts.Node) => unknown, enters: (node: ts.Node) => boolean = () => true): void {
  visit(node);
  ts.forEachChild(node, (child) => (enters(child) ? walk(child, visit, enters) : undefined));
}

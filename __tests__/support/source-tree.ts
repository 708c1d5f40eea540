import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import ts from "typescript";

/** One import of a source file, whatever its form. `value` is false where nothing of it is left after compiling. */
export interface SourceImport {
  /** What is imported; undefined where it is computed at run time. */
  readonly specifier: string | undefined;
  readonly value: boolean;
  readonly lazy: boolean;
  readonly line: number;
}

/** A source file: its path below the root with `/` on every system, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** Every file below a folder, by path, but for installed packages. */
export function readTree(root: string): SourceFile[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.slice(root.length).includes("node_modules"))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: relative(root, file).split(sep).join("/"), text: readFileSync(file, "utf8") }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Every file of the package: of `src`, `cli` and `testing`, by path from the root. */
export function packageSources(root: string): SourceFile[] {
  return ["src", "cli", "testing"].flatMap((folder) =>
    readTree(join(root, folder)).map(({ path, text }) => ({ path: `${folder}/${path}`, text })),
  );
}

/** Static, type-only, dynamic and required imports, re-exports and `import("…")` types of a file, in order. */
export function importsOf({ path, text }: SourceFile): SourceImport[] {
  const source = parse({ path, text });
  const imports: SourceImport[] = [];
  const visit = (node: ts.Node): void => {
    const found = importAt(node);
    if (found !== undefined) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      const { specifier } = found;
      imports.push({
        ...found,
        specifier: specifier && ts.isStringLiteralLike(specifier) ? specifier.text : undefined,
        line,
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return imports;
}

/** The export lists of a file, with or without `from`; `names` is undefined for `export *`. */
export function exportListsOf({ path, text }: SourceFile): { readonly line: number; readonly names?: string[] }[] {
  // Most files have none, and to parse them all takes seconds.
  if (!/\bexport\s*(type\s*)?[{*]/.test(text)) {
    return [];
  }
  const source = parse({ path, text });
  return source.statements.filter(ts.isExportDeclaration).map((node) => {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    const list = node.exportClause;
    return list !== undefined && ts.isNamedExports(list)
      ? { line, names: list.elements.map(({ name }) => name.text) }
      : { line };
  });
}

function parse({ path, text }: SourceFile): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
}

interface FoundImport {
  readonly specifier: ts.Node | undefined;
  readonly value: boolean;
  readonly lazy: boolean;
}

function importAt(node: ts.Node): FoundImport | undefined {
  if (ts.isImportDeclaration(node)) {
    // `import { type A }` counts as a value: under verbatimModuleSyntax the import itself stays.
    return {
      specifier: node.moduleSpecifier,
      value: node.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword,
      lazy: false,
    };
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
    return { specifier: node.moduleSpecifier, value: !node.isTypeOnly, lazy: false };
  }
  if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
    return { specifier: node.moduleReference.expression, value: !node.isTypeOnly, lazy: false };
  }
  if (ts.isImportTypeNode(node)) {
    const { argument } = node;
    return { specifier: ts.isLiteralTypeNode(argument) ? argument.literal : undefined, value: false, lazy: false };
  }
  return ts.isCallExpression(node) ? callImport(node) : undefined;
}

function callImport(node: ts.CallExpression): FoundImport | undefined {
  const dynamic = node.expression.kind === ts.SyntaxKind.ImportKeyword;
  const required = ts.isIdentifier(node.expression) && node.expression.text === "require";
  return dynamic || required ? { specifier: node.arguments[0], value: true, lazy: true } : undefined;
}

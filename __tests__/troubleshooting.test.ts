import { join } from "node:path";
import ts from "typescript";
import { readDocument } from "./support/markdown.js";
import { exportsOf, sourceProgram } from "./support/source-program.js";
import { packageSources } from "./support/source-tree.js";

const root = join(__dirname, "..");
const page = readDocument(root, "docs/troubleshooting.md");

/** The sections of the page, and the codes that each explains. */
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const name = section.slice(0, section.indexOf("\n"));
      return [name, [...section.matchAll(/^### `(\w+)`.*\n\n([\s\S]*?)(?=\n### |$(?![\s\S]))/gm)]] as const;
    }),
);
const codesOn = (section: string) => (sections.get(section) ?? []).map(([, code]) => code!).sort();

/** The string literals below a type of the sources. */
function literalsOf(node: ts.Node): string[] {
  const found: string[] = [];
  const visit = (child: ts.Node): void => {
    if (ts.isLiteralTypeNode(child) && ts.isStringLiteral(child.literal)) {
      found.push(child.literal.text);
    }
    ts.forEachChild(child, visit);
  };
  visit(node);
  return found;
}

const errors = join(root, "src/base/errors.ts");
const errorCodes = join(root, "src/base/errors.ts");
const events = join(root, "src/base/events.ts");
const program = sourceProgram([errors, errorCodes, events]);
const declarationOf = (file: string, name: string) =>
  exportsOf(program, file).find((exported) => exported.name === name)!.symbol.declarations![0]!;

/** The codes of a class of errors: those of its type, or the one that its constructor gives. */
function codesOf(name: string): string[] {
  const declaration = declarationOf(errors, name) as ts.ClassDeclaration;
  const code = declaration.members.find((member) => member.name?.getText() === "code") as ts.PropertyDeclaration;
  const named = code?.type && ts.isTypeReferenceNode(code.type) ? code.type.getText() : undefined;
  const type = named === undefined ? code?.type : declarationOf(errorCodes, named);
  const typed = type === undefined ? [] : literalsOf(type);
  return typed.length > 0 ? typed : [/code: "(\w+)"/.exec(declaration.getText())?.[1] ?? ""].filter(Boolean);
}

const classes = exportsOf(program, errors)
  .map(({ name }) => name)
  .filter((name) => name.endsWith("Error") && name !== "MemoryError");

describe("the page about troubleshooting", () => {
  it.each(classes)("has a section for each code of %s, and no other", (name) => {
    const codes = codesOf(name);
    expect(codes.length).toBeGreaterThan(0);
    expect(codesOn(name)).toEqual(codes.sort());
  });

  it("has a section for each code that only the base class carries", () => {
    const thrown = packageSources(root).flatMap(({ text }) =>
      [...text.replaceAll(/^ *\*.*$/gm, "").matchAll(/new MemoryError\([\s\S]*?code: "(\w+)"/g)].map(
        ([, code]) => code!,
      ),
    );
    expect(codesOn("MemoryError")).toEqual([...new Set(thrown)].sort());
  });

  it("has a section for each event", () => {
    const types: string[] = [];
    const visit = (node: ts.Node): void => {
      types.push(...(ts.isPropertySignature(node) && node.name.getText() === "type" ? literalsOf(node) : []));
      node.forEachChild(visit);
    };
    visit(declarationOf(events, "MemoryEvent"));
    expect(types.length).toBeGreaterThan(10);
    expect(codesOn("Events")).toEqual(types.sort());
  });

  it("says for each code of an error the cause and the remedy", () => {
    const without = [...sections]
      .filter(([name]) => name.endsWith("Error"))
      .flatMap(([name, codes]) => codes.map(([text, code]) => ({ code: `${name} ${code}`, text: text! })))
      .filter(({ text }) => !/\*\*Cause\.\*\*/.test(text) || !/\*\*Remedy\.\*\*/.test(text));
    expect(without.map(({ code }) => code)).toEqual([]);
  });
});

import { parseAst } from "@rollup/wasm-node/parseAst";

const work = new Set([
  "CallExpression",
  "NewExpression",
  "TaggedTemplateExpression",
  "TemplateLiteral",
  "SpreadElement",
  "MemberExpression",
]);

/**
 * The module with the value of each top-level constant that takes more than writing it down computed in a call that is
 * marked as pure. `"sideEffects": false` lets users' bundlers leave out whole files that nothing uses; where a file
 * holds many modules, these marks say the same of its constants. Lines stay where they are.
 */
export function markPure(code) {
  const declarations = parseAst(code).body.map((statement) =>
    statement.type === "ExportNamedDeclaration" ? statement.declaration : statement,
  );
  const values = declarations.flatMap((declaration) =>
    declaration?.type === "VariableDeclaration" ? declaration.declarations.map(({ init }) => init) : [],
  );
  return values
    .filter(takesWork)
    .reduceRight(
      (marked, { start, end }) =>
        `${marked.slice(0, start)}/* @__PURE__ */ (() => (${marked.slice(start, end)}))()${marked.slice(end)}`,
      code,
    );
}

/**
 * Whether evaluating the expression does anything that a bundler cannot see the end of; what functions in it do when
 * called does not count.
 */
function takesWork(node) {
  if (typeof node?.type !== "string" || node.type.includes("Function")) {
    return false;
  }
  return (
    work.has(node.type) ||
    Object.values(node)
      .flat()
      .some((child) => takesWork(child))
  );
}

import { relative, sep } from "node:path";
import ts from "typescript";
import { exportsOf, withoutAlias } from "./source-program.js";

/**
 * The gaps in the public signatures below `root`, each as a sentence: types that a signature names and no entry
 * exports, and signatures whose type is not written out, so that this check could not read it. Types that are `inner`
 * may stay unexported; what they name is checked as if they were, and one that no signature names is a gap too.
 */
export function signatureGaps(
  program: ts.Program,
  root: string,
  entries: readonly string[],
  inner: readonly string[] = [],
): string[] {
  const checker = program.getTypeChecker();
  const checked = entries.flatMap((entry) => exportsOf(program, entry));
  const open = new Set(checked.map(({ symbol }) => symbol));
  const place = (node: ts.Node) => relative(root, node.getSourceFile().fileName).split(sep).join("/");
  const gaps = new Set<string>();
  const unused = new Set(inner);
  const isOpen = (target: ts.Symbol): boolean => {
    if (unused.delete(target.name)) {
      open.add(target);
      checked.push({ name: target.name, symbol: target });
    }
    return open.has(target);
  };
  for (const { name, symbol } of checked) {
    for (const declaration of symbol.declarations ?? []) {
      visitSignature(declaration, {
        named: (node) => {
          const found = checker.getSymbolAtLocation(node);
          const target = found && withoutAlias(checker, found);
          const source = target?.declarations?.[0];
          if (target && source && (target.flags & ts.SymbolFlags.TypeParameter) === 0 && !isOpen(target)) {
            gaps.add(`${target.name} (${place(source)}) is named by ${name} (${place(declaration)}) but not exported`);
          }
        },
        unwritten: (node) => gaps.add(`${node.getText()} of ${name} (${place(declaration)}) has no written type`),
      });
    }
  }
  unused.forEach((name) => gaps.add(`${name} is an inner type, but no signature names it`));
  return [...gaps].sort();
}

interface SignatureVisitor {
  /** A name of a type, or of a value behind `typeof` or `extends`. */
  readonly named: (node: ts.Node) => void;
  /** A function or a property whose type the compiler infers. */
  readonly unwritten: (name: ts.Node) => void;
}

/** Goes through what a user sees of a declaration: no bodies, and no private or protected members. */
function visitSignature(node: ts.Node, visitor: SignatureVisitor): void {
  const next = (child: ts.Node | undefined) => child && visitSignature(child, visitor);
  if (isHidden(node)) {
    return;
  }
  if (ts.isFunctionLike(node)) {
    [...(node.typeParameters ?? []), ...node.parameters].forEach(next);
    next(node.type);
    if (node.type === undefined && !ts.isConstructorDeclaration(node) && !ts.isSetAccessor(node)) {
      visitor.unwritten(node.name ?? node);
    }
  } else if (ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node) || ts.isParameter(node)) {
    visitTyped(node, visitor);
  } else {
    const name = nameIn(node);
    if (name !== undefined) {
      visitor.named(name);
    }
    ts.forEachChild(node, next);
  }
}

function visitTyped(
  node: ts.PropertyDeclaration | ts.VariableDeclaration | ts.ParameterDeclaration,
  visitor: SignatureVisitor,
): void {
  const { type, initializer } = node;
  if (type !== undefined) {
    visitSignature(type, visitor);
  } else if (initializer !== undefined && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer))) {
    visitSignature(initializer, visitor);
  } else if (initializer === undefined || !isLiteral(initializer)) {
    visitor.unwritten(node.name);
  }
}

function nameIn(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) {
    return node.typeName;
  }
  if (ts.isTypeQueryNode(node)) {
    return node.exprName;
  }
  if (ts.isImportTypeNode(node)) {
    return node.qualifier;
  }
  return ts.isExpressionWithTypeArguments(node) ? node.expression : undefined;
}

/** Members that only the class itself or its subclasses use, and the implementation behind overloads. */
function isHidden(node: ts.Node): boolean {
  if (ts.isClassElement(node)) {
    const flags = ts.getCombinedModifierFlags(node);
    const named = node.name !== undefined && ts.isPrivateIdentifier(node.name);
    if (named || (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0) {
      return true;
    }
  }
  return isImplementation(node);
}

function isImplementation(node: ts.Node): boolean {
  if (!(ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isConstructorDeclaration(node))) {
    return ts.isClassStaticBlockDeclaration(node);
  }
  const siblings: readonly ts.Node[] = ts.isFunctionDeclaration(node)
    ? node.getSourceFile().statements
    : node.parent.getChildren().flatMap((child) => child.getChildren());
  return node.body !== undefined && siblings.some((other) => isOverloadOf(other, node));
}

function isOverloadOf(other: ts.Node, node: ts.FunctionLikeDeclaration): boolean {
  return (
    other.kind === node.kind &&
    (other as ts.FunctionLikeDeclaration).body === undefined &&
    (other as ts.FunctionLikeDeclaration).name?.getText() === node.name?.getText()
  );
}

/** A literal, or a list or table of literals behind `as const`. */
function isLiteral(node: ts.Expression): boolean {
  const isConstant = ts.isAsExpression(node) && node.type.getText() === "const";
  const isBoolean = node.kind === ts.SyntaxKind.TrueKeyword || node.kind === ts.SyntaxKind.FalseKeyword;
  return isConstant || isBoolean || ts.isLiteralExpression(node);
}

import { parse, type Node } from "luaparse";

/** A change of one place of a file of Lua. */
export interface LuaMutant {
  readonly line: number;
  /** Its place in the file, from 0. */
  readonly from: number;
  /** The text that stood there and its replacement, cut short. */
  readonly says: string;
  readonly text: string;
}

const others: Readonly<Record<string, string>> = {
  ...{ "==": "~=", "~=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">" },
  ...{ "+": "-", "-": "+", and: "or", or: "and" },
};

/** All mutants of a text: a condition that always or never holds, another operator, half of a condition, no call. */
export function luaMutantsOf(text: string): LuaMutant[] {
  const mutants: LuaMutant[] = [];
  const replace = ([from, to]: Node["range"], by: string) => {
    const line = text.slice(0, from).split("\n").length;
    const says = `${text.slice(from, to)} → ${by}`.replace(/\s+/g, " ").slice(0, 100);
    mutants.push({ line, from, says, text: text.slice(0, from) + by + text.slice(to) });
  };
  parse(text, { ranges: true, luaVersion: "5.1", onCreateNode: (node) => mutate(node, { text, replace }) });
  return mutants;
}

function mutate(
  { type, range, operator = "", left, right, condition, argument }: Node,
  { text, replace }: { readonly text: string; readonly replace: (range: Node["range"], by: string) => void },
): void {
  const textOf = (node: Node) => text.slice(...node.range);
  if (left !== undefined && right !== undefined) {
    const at = text.indexOf(operator, left.range[1]);
    if (others[operator] !== undefined && at < right.range[0]) {
      replace([at, at + operator.length], others[operator]);
    }
    [left, right].forEach((half) => type === "LogicalExpression" && replace(range, textOf(half)));
  } else if (condition !== undefined) {
    ["true", "false"].forEach((by) => type.endsWith("Clause") && replace(condition.range, by));
  } else if (type === "UnaryExpression" && operator === "not") {
    replace(range, textOf(argument!));
  } else if (type === "CallStatement") {
    replace(range, "do end");
  }
}

declare module "luaparse" {
  /** A node of the syntax tree, as far as mutants need it. */
  export interface Node {
    readonly type: string;
    readonly range: readonly [from: number, to: number];
    readonly operator?: string;
    readonly left?: Node;
    readonly right?: Node;
    readonly condition?: Node;
    readonly argument?: Node;
  }

  export function parse(
    text: string,
    options: { readonly ranges: true; readonly luaVersion: "5.1"; readonly onCreateNode: (node: Node) => void },
  ): unknown;
}

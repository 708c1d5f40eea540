import { signatureGaps } from "./public-signatures.js";
import { textProgram } from "./source-program.js";

describe("the check of public signatures", () => {
  const gapsOf = (entry: string, inner?: readonly string[]) => {
    const hidden = "export interface A {} export class B {} export const c: number = 1; export interface Open {}";
    const texts = { "entry.ts": `import type { A, B, Open } from "./a.js"; ${entry}`, "a.ts": hidden };
    const exported = { "index.ts": 'export * from "./entry.js"; export type { Open as Renamed } from "./a.js";' };
    return signatureGaps(textProgram("/root", { ...texts, ...exported }), "/root", ["/root/index.ts"], inner);
  };

  it.each([
    ["a parameter", "export function f(a: A): void {}"],
    ["a result", "export function f(): Promise<readonly A[]> {}"],
    ["an overload", "export function f(): A; export function f(): void; export function f(): unknown {}"],
    ["a property", "export interface F { a: { b?: A } }"],
    ["an index or a mapped type", "export type F = { [K in keyof A]: 1 }"],
    ["a base interface", "export interface F extends A {}"],
    ["a type parameter's bound", "export class F<T extends A> {}"],
    ["a method's type parameter", "export class F { m<T = A>(): T {} }"],
    ["an accessor", "export class F { get a(): A {} }"],
    ["a constructor, also for a private property", "export class F { constructor(private readonly a: A) {} }"],
    ["a function in a property", "export class F { f = (a: A): void => {} }"],
    ["a constant", "export const f: A = {}"],
    ["an import type", 'export type F = import("./a.js").A'],
  ])("finds a type in %s", (_, entry) => {
    const name = entry.includes("f(") || entry.includes("const f") ? "f" : "F";
    expect(gapsOf(entry)).toEqual([`A (a.ts) is named by ${name} (entry.ts) but not exported`]);
  });

  it("finds a base class, a value behind typeof and a type of the same file", () => {
    expect(gapsOf("export class F extends B {}")).toHaveLength(1);
    expect(gapsOf('import { c } from "./a.js"; export type F = typeof c;')).toHaveLength(1);
    expect(gapsOf("interface G {} export type F = G;")).toHaveLength(1);
  });

  it("takes what is exported under any name, from other packages, or hidden from users", () => {
    expect(gapsOf('import type { Z } from "zod"; export type F<T> = Open | Z | T | Promise<string>;')).toEqual([]);
    expect(gapsOf("export class F { #a: A; private b: A; protected c(): A {} }")).toEqual([]);
    expect(gapsOf("export function f(): void { const a: A = {}; }")).toEqual([]);
    expect(gapsOf("export function f(a: 1): void; export function f(a: 2): void; export function f(a: A) {}")).toEqual(
      [],
    );
  });

  it("takes an inner type that is not exported, and checks what it names", () => {
    expect(gapsOf("export function f<T extends A>(a: T): void {}", ["A"])).toEqual([]);
    expect(gapsOf("interface G { b: B } export function f(): G {}", ["G"])).toEqual([
      "B (a.ts) is named by G (entry.ts) but not exported",
    ]);
    expect(gapsOf("export type F = Open;", ["A"])).toEqual(["A is an inner type, but no signature names it"]);
  });

  it("finds signatures that are left to the compiler, other than literals", () => {
    expect(gapsOf("export const f = () => 1;")).toEqual(["() => 1 of f (entry.ts) has no written type"]);
    expect(gapsOf("export class F { a = g(); m() {} }")).toHaveLength(2);
    expect(gapsOf('export const f = "f"; export const g = { a: 1 } as const; export class H { a = true }')).toEqual([]);
  });
});

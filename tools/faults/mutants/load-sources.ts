import { existsSync, readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { join, resolve, dirname } from "node:path";
import { transformSync } from "@swc/core";

/** Returns the source of a file as it is to be loaded. */
export type ReadSource = (path: string) => string;

/** The parts of Node.js that load modules, as far as they are replaced. */
interface Loading {
  readonly _extensions: Record<
    string,
    (module: Module & { _compile(code: string, path: string): void }, path: string) => void
  >;
  _resolveFilename(request: string, parent: { readonly filename?: string } | undefined, ...others: unknown[]): string;
}

const entryNames = /^langchain-redis-memory(?:\/([\w-]+))?$/;
const swc = {
  jsc: { target: "es2022", parser: { syntax: "typescript" } },
  module: { type: "commonjs" },
} as const;

/**
 * Makes `require` load the TypeScript of the project at `root` as its tests do, and returns that `require`: sources are
 * compiled to CommonJS, and the package's names stand for its sources.
 */
export function loadSources(root: string, read: ReadSource = (path) => readFileSync(path, "utf8")): NodeJS.Require {
  const loading = Module as unknown as Loading;
  const resolveFilename = loading._resolveFilename;
  loading._resolveFilename = (request, parent, ...others) =>
    sourceOf(root, request, parent?.filename) ?? resolveFilename.call(Module, request, parent, ...others);
  const extension = (module: Module & { _compile(code: string, path: string): void }, path: string) => {
    module._compile(transformSync(read(path), { ...swc, filename: path }).code, path);
  };
  Object.defineProperty(loading._extensions, ".ts", { value: extension, configurable: true, enumerable: true });
  return createRequire(join(root, "package.json"));
}

/** The source that a module of the project names, and `undefined` for any other name. */
export function sourceOf(root: string, request: string, from: string | undefined): string | undefined {
  const entry = entryNames.exec(request);
  if (entry !== null) {
    const [, name = "index"] = entry;
    return name === "testing" ? join(root, "testing/index.ts") : join(root, `src/entries/${name}.ts`);
  }
  if (from === undefined || !request.startsWith(".") || !request.endsWith(".js")) {
    return undefined;
  }
  const path = resolve(dirname(from), request.replace(/\.js$/, ".ts"));
  return existsSync(path) ? path : undefined;
}

import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { compileFunction } from "node:vm";
import { transformSync } from "esbuild";
import { sourceOf } from "./load-sources.js";

type Load = (...values: unknown[]) => void;

/** Names that every file finds beside those of a module of CommonJS. */
export type Injected = Readonly<Record<string, unknown>>;

/**
 * The project's files as modules, compiled once and made anew by each {@link fresh}: a change that works while a module
 * is made is seen too. Packages are loaded once.
 */
export class SourceModules {
  readonly #compiled = new Map<string, Load>();

  constructor(
    private readonly root: string,
    private readonly texts: Readonly<Record<string, string>>,
    private readonly injected: Injected,
    /** A folder that keeps what files were turned into. */
    private readonly cache: string,
  ) {}

  /** A function that loads files of one set of modules, and their packages by `loadPackage`. */
  fresh(loadPackage: (name: string) => unknown): (path: string) => unknown {
    const modules = new Map<string, { exports: unknown }>();
    const load = (path: string): unknown => {
      const known = modules.get(path);
      if (known !== undefined) {
        return known.exports;
      }
      const module = { exports: {} as unknown };
      modules.set(path, module);
      const folder = dirname(path);
      const require = (name: string) => {
        const source = this.#sourceOf(path, name);
        return source === undefined ? loadPackage(name) : load(source);
      };
      this.#compile(path)(module, module.exports, require, path, folder, ...Object.values(this.injected));
      return module.exports;
    };
    return load;
  }

  #sourceOf(from: string, name: string): string | undefined {
    const file = join(dirname(from), name);
    return sourceOf(this.root, name, from) ?? (name.startsWith(".") ? file : undefined);
  }

  #compile(path: string): Load {
    const known = this.#compiled.get(path);
    if (known !== undefined) {
      return known;
    }
    const parameters = ["module", "exports", "require", "__filename", "__dirname", ...Object.keys(this.injected)];
    const load = compileFunction(this.#javaScriptOf(path), parameters, { filename: path }) as Load;
    this.#compiled.set(path, load);
    return load;
  }

  #javaScriptOf(path: string): string {
    const text = this.texts[relative(this.root, path)] ?? readFileSync(path, "utf8");
    if (path.endsWith(".json")) {
      return `module.exports = ${text}`;
    }
    const kept = join(this.cache, `${createHash("sha256").update(text).digest("hex")}.js`);
    if (!existsSync(kept)) {
      writeFileSync(kept, this.#transformed(path, text));
    }
    return readFileSync(kept, "utf8");
  }

  #transformed(path: string, text: string): string {
    return transformSync(text, {
      loader: path.endsWith(".ts") ? "ts" : "js",
      format: "cjs",
      target: "node20",
      // Turned into calls of `require`, as code that is compiled so may not import.
      supported: { "dynamic-import": false },
      define: { "import.meta.dirname": "__dirname", "import.meta.filename": "__filename" },
    }).code;
  }
}

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** A change of one place of a file of TypeScript. */
export interface SourceMutant {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly mutator: string;
  /** The text that stands there instead. */
  readonly says: string;
}

interface Instrumented {
  readonly files: readonly { readonly name: string; readonly content: string }[];
  readonly mutants: readonly {
    readonly id: string;
    readonly fileName: string;
    readonly mutatorName: string;
    readonly replacement: string;
    readonly status?: string;
    readonly location: { readonly start: { readonly line: number; readonly column: number } };
  }[];
}

/** The part that is used of `@stryker-mutator/instrumenter`, which is not among the project's own packages. */
interface Instrumenter {
  instrument(
    files: readonly { readonly name: string; readonly content: string; readonly mutate: boolean }[],
    options: object,
  ): Promise<Instrumented>;
}

/** All mutants of these files but those of texts, and the files with all mutants in them, each behind a switch. */
export async function sourceMutantsOf(
  root: string,
  files: readonly string[],
): Promise<{ readonly mutants: SourceMutant[]; readonly texts: Readonly<Record<string, string>> }> {
  const instrumenter = await newInstrumenter(root);
  const sources = files.map((name) => ({ name, content: readFileSync(join(root, name), "utf8"), mutate: true }));
  const options = { plugins: null, ignorers: [], excludedMutations: ["StringLiteral"], noHeader: true };
  const { files: changed, mutants } = await instrumenter.instrument(sources, options);
  return {
    texts: Object.fromEntries(changed.map(({ name, content }) => [name, content])),
    mutants: mutants
      .filter(({ status }) => status === undefined)
      .map(({ id, fileName, mutatorName, replacement, location: { start } }) => ({
        id,
        file: fileName,
        line: start.line + 1,
        column: start.column + 1,
        mutator: mutatorName,
        says: replacement.replace(/\s+/g, " ").slice(0, 100),
      })),
  };
}

async function newInstrumenter(root: string): Promise<Instrumenter> {
  const name = "@stryker-mutator/instrumenter";
  const path = createRequire(join(root, "package.json")).resolve(name);
  const module = (await import(path)) as { readonly Instrumenter: new (logger: object) => Instrumenter };
  const silent = () => undefined;
  return new module.Instrumenter({ debug: silent, info: silent, warn: silent, isDebugEnabled: silent });
}

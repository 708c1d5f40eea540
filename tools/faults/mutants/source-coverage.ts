import type { SourceMutant } from "./source-mutants.js";
import type { TestedFile } from "./source-tests.js";

export type CoveredFile = Partial<TestedFile> & { readonly file: string; readonly failed?: string | undefined };

/** A file of tests to be run for a mutant. */
export interface PlannedFile {
  readonly file: string;
  /** The tests that reach it; all where the file's hooks or its modules do. */
  readonly only: readonly string[] | undefined;
  /** Milliseconds of these tests without a change. */
  readonly ms: number;
  readonly hits: number;
}

/** Which tests reach which mutant. */
export class Coverage {
  readonly #files: readonly CoveredFile[];
  /** How often a file of tests noticed changes of a source. */
  readonly #kills = new Map<string, number>();

  constructor(files: readonly CoveredFile[]) {
    this.#files = files.filter(({ failed }) => failed === undefined);
  }

  /** The files of tests to run, those first that are quick and have noticed changes of the same source. */
  planFor({ id, file: source }: SourceMutant): PlannedFile[] {
    const cost = ({ file, ms }: PlannedFile) => ms / (0.1 + (this.#kills.get(`${source} ${file}`) ?? 0));
    return this.#files.flatMap((file) => planOf(file, id)).sort((a, b) => cost(a) - cost(b));
  }

  killed({ file: source }: SourceMutant, file: string): void {
    const key = `${source} ${file}`;
    this.#kills.set(key, (this.#kills.get(key) ?? 0) + 1);
  }
}

function planOf({ file, tests = [], reachedByAll = {}, ms: whole = 0 }: CoveredFile, id: string): PlannedFile[] {
  const isReachedByAll = reachedByAll[id] !== undefined;
  const chosen = tests.filter(({ reached }) => isReachedByAll || reached[id] !== undefined);
  if (chosen.length === 0) {
    return [];
  }
  // The modules and the hooks run whichever tests are chosen.
  const around = Math.max(20, whole - tests.reduce((sum, { ms }) => sum + ms, 0));
  const ms = around + chosen.reduce((sum, test) => sum + test.ms, 0);
  const hits = chosen.reduce((sum, { reached }) => sum + (reached[id] ?? 0), reachedByAll[id] ?? 0);
  return [{ file, only: isReachedByAll ? undefined : chosen.map(({ name }) => name), ms, hits }];
}

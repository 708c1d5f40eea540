import { createRequire, isBuiltin } from "node:module";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SourceModules } from "./source-modules.js";
import { WarmTests, type TestOutcome } from "./warm-tests.js";

/** The tests of a file to run, and how long at most. */
export interface TestRequest {
  /** From the root of the project. */
  readonly file: string;
  /** Names of the tests to run; all by default. */
  readonly only?: readonly string[] | undefined;
  /** The change that is switched on; none by default. */
  readonly mutant?: string | undefined;
  /** Milliseconds that a single test or hook may take. */
  readonly timeoutMs: number;
  /** How often the change may be asked for before the run ends; one that makes a loop endless would not end. */
  readonly hitLimit?: number | undefined;
}

/** How often changes were reached, by their ids. */
export type Reached = Readonly<Record<string, number>>;

/** The outcome of a file of tests. */
export interface TestedFile {
  /** Why the first test failed, behind which no other ran. */
  readonly failed: string | undefined;
  readonly timedOut: boolean;
  /** Something is still at work. */
  readonly isBusy: boolean;
  readonly ms: number;
  readonly tests: readonly { readonly name: string; readonly ms: number; readonly reached: Reached }[];
  /** Changes that were reached while the modules were made, and by hooks of several tests. */
  readonly reachedByAll: Reached;
}

/** The environment of the project's tests, as far as it is used. */
interface Environment {
  load(path: string): unknown;
  teardown(): Promise<void>;
}

// Tests may put others in their places.
const now = performance.now.bind(performance);
const later = setImmediate;
const tooOften = "The change was asked for too often.";

/** Runs files of tests with one of the changes switched on, or none; the project's modules are made anew each time. */
export class SourceTests {
  readonly #root: string;
  readonly #require: NodeJS.Require;
  readonly #sources: SourceModules;
  readonly #tests: WarmTests;
  #environment!: Environment;
  #request: TestRequest = { file: "", timeoutMs: 0 };
  #hits = 0;
  #reached: Record<string, number> = {};
  #reachedByAll: Record<string, number> = {};
  #reachedBy = new Map<string, Reached>();

  /**
   * @param texts what stands in place of files of the project, by their paths from its root
   * @param options `cache` is a folder of what may be kept; `covers` counts which changes each test reaches, which
   *   costs most of the time
   */
  constructor(
    root: string,
    texts: Readonly<Record<string, string>>,
    { covers, cache }: { readonly covers: boolean; readonly cache: string },
  ) {
    [this.#root, this.#require] = [root, createRequire(join(root, "package.json"))];
    const switches = {
      stryMutAct_9fa48: (id: string) => id === this.#request.mutant && this.#hit(),
      stryCov_9fa48: (...ids: string[]) => ids.forEach((id) => (this.#reached[id] = (this.#reached[id] ?? 0) + 1)),
    };
    this.#sources = new SourceModules(root, covers ? texts : withoutCoverage(texts), switches, cache);
    const loadPackage = (name: string) =>
      isBuiltin(name) ? (this.#require(name) as unknown) : this.#environment.load(this.#require.resolve(name));
    this.#tests = new WarmTests(root, this.#require, (path) => this.#sources.fresh(loadPackage)(path));
  }

  async run(request: TestRequest): Promise<TestedFile> {
    const start = now();
    [this.#request, this.#hits, this.#environment] = [request, 0, this.#newEnvironment()];
    [this.#reached, this.#reachedByAll, this.#reachedBy] = [{}, {}, new Map<string, Reached>()];
    const outcomes = await this.#tests.run({
      ...request,
      bail: true,
      before: () => this.#keepForAll(),
      after: (name) => {
        this.#reachedBy.set(name, this.#reached);
        this.#reached = {};
      },
    });
    await new Promise((resolve) => later(resolve));
    this.#keepForAll();
    const isOver = this.#isOverLimit();
    const timedOut = isOver || outcomes.some(isTimeout);
    const isBusy = timedOut && (await isAtWork());
    const failed = outcomes.find(({ failure }) => failure !== undefined);
    const words = failed === undefined ? undefined : `${failed.name}: ${failed.failure}`;
    this.#request = { file: "", timeoutMs: 0 };
    await this.#environment.teardown();
    return {
      failed: isOver ? tooOften : words,
      ...{ timedOut, isBusy, ms: now() - start, reachedByAll: this.#reachedByAll },
      tests: outcomes.map(({ name, ms }) => ({ name, ms, reached: this.#reachedBy.get(name) ?? {} })),
    };
  }

  #hit(): boolean {
    this.#hits += 1;
    if (this.#isOverLimit()) {
      throw new Error(tooOften);
    }
    return true;
  }

  #isOverLimit(): boolean {
    return this.#hits > (this.#request.hitLimit ?? Infinity);
  }

  #keepForAll(): void {
    for (const [id, count] of Object.entries(this.#reached)) {
      this.#reachedByAll[id] = (this.#reachedByAll[id] ?? 0) + count;
    }
    this.#reached = {};
  }

  /** Its end takes back what the tests leave behind in this process. */
  #newEnvironment(): Environment {
    const OneRealm = this.#require("./__tests__/support/one-realm-environment.cjs") as new (to: object) => Environment;
    return new OneRealm({ projectConfig: { fakeTimers: {}, rootDir: this.#root } });
  }
}

function isTimeout({ failure = "" }: TestOutcome): boolean {
  return failure.includes("Exceeded timeout of");
}

async function isAtWork(): Promise<boolean> {
  const before = process.cpuUsage();
  await delay(100);
  const { user, system } = process.cpuUsage(before);
  return user + system > 30_000;
}

function withoutCoverage(texts: Readonly<Record<string, string>>): Record<string, string> {
  const uncounted = (text: string) => text.replace(/stryCov_9fa48\(("\d+"(, )?)+\)/g, "0");
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, uncounted(text)]));
}

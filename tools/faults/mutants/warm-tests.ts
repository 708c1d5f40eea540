import { join } from "node:path";
import { jestExpect } from "@jest/expect";
import { ModernFakeTimers } from "@jest/fake-timers";
import * as circus from "jest-circus";
import { ModuleMocker } from "jest-mock";

type TestEntry = NonNullable<circus.State["currentlyRunningTest"]>;

/** How a test ended. */
export interface TestOutcome {
  readonly file: string;
  readonly name: string;
  readonly ms: number;
  /** The first error. */
  readonly failure?: string | undefined;
}

/** Which tests of a file run, and how. */
export interface TestRun {
  readonly file: string;
  /** The names of tests, all by default. */
  readonly only?: readonly string[] | undefined;
  /** Skips the tests behind the first that fails. */
  readonly bail?: boolean;
  /** Milliseconds that a test or a hook may take, 240,000 by default. */
  readonly timeoutMs?: number;
  readonly before?: (name: string) => unknown;
  readonly after?: (name: string) => unknown;
}

/** Runs files of tests one after the other in this process, by Jest's own runner; sources stay loaded. */
export class WarmTests {
  readonly #root: string;
  readonly #load: (path: string) => void;
  readonly #jest: ReturnType<typeof jestObject>;
  #run: TestRun | undefined;
  #outcomes: TestOutcome[] = [];

  /**
   * @param require loads packages, and TypeScript if it is of {@link loadSources}
   * @param load loads a file of tests; by default with `require`, anew
   */
  constructor(root: string, require: NodeJS.Require, load = anewBy(require)) {
    [this.#root, this.#load] = [root, load];
    this.#jest = jestObject(require);
    Object.assign(globalThis, circus, { expect: jestExpect, jest: this.#jest });
    circus.addEventHandler((event, state) => this.#hear(event, state));
  }

  /** Runs the tests of a file, whose path is one from the root. A file that does not load is a test that failed. */
  async run(run: TestRun): Promise<readonly TestOutcome[]> {
    [this.#run, this.#outcomes] = [run, []];
    circus.resetState();
    const state = circus.getState();
    state.testTimeout = run.timeoutMs ?? 240_000;
    if (run.only !== undefined) {
      state.testNamePattern = matches(new Set(run.only));
    }
    try {
      this.#load(join(this.#root, run.file));
    } catch (error) {
      return [{ file: run.file, name: "", ms: 0, failure: String(error) }];
    }
    const [handle] = Reflect.get(globalThis, Symbol.for("EVENT_HANDLERS")) as readonly [
      Parameters<typeof circus.addEventHandler>[0],
    ];
    // Rejections that nobody handles fail a test and do not end this process.
    void handle({ name: "setup", testNamePattern: "", runtimeGlobals: {}, parentProcess: process } as never, state);
    const { unhandledErrors } = await circus.run();
    void handle({ name: "teardown" }, state);
    this.#jest.useRealTimers();
    this.#jest.restoreAllMocks();
    const broken = unhandledErrors.map((failure) => ({ file: run.file, name: "", ms: 0, failure }));
    return [...this.#outcomes, ...broken];
  }

  async #hear(event: circus.Event, state: circus.State): Promise<void> {
    const run = this.#run!;
    if (event.name === "test_fn_start") {
      const reset = { assertionCalls: 0, expectedAssertionsNumber: null, isExpectingAssertions: false };
      jestExpect.setState({ ...reset, suppressedErrors: [], numPassingAsserts: 0 });
    } else if (event.name === "test_fn_success") {
      event.test.errors.push(...jestExpect.extractExpectedAssertionsErrors().map(({ error }) => error));
    } else if (event.name === "test_started") {
      await run.before?.(nameOf(event.test));
    } else if (event.name === "test_done") {
      const name = nameOf(event.test);
      const [error] = event.test.errors;
      const failure = error === undefined ? undefined : wordsOf(error);
      this.#outcomes.push({ file: run.file, name, ms: event.test.duration ?? 0, failure });
      if (failure !== undefined && run.bail === true) {
        state.testNamePattern = matches(new Set());
      }
      await run.after?.(name);
    }
  }
}

function anewBy(require: NodeJS.Require): (path: string) => void {
  return (path) => {
    Reflect.deleteProperty(require.cache, path);
    require(path);
  };
}

/** A pattern that only these names match. */
function matches(names: ReadonlySet<string>): RegExp {
  return Object.assign(/never/, { test: (name: string) => names.has(name) });
}

function nameOf({ name, parent }: TestEntry): string {
  const names = [name];
  for (let block: TestEntry["parent"] | undefined = parent; block?.parent !== undefined; block = block.parent) {
    names.unshift(block.name);
  }
  return names.join(" ");
}

function wordsOf(error: unknown): string {
  const [first] = [error].flat() as unknown[];
  return String(first instanceof Error ? (first.stack ?? first.message) : first).slice(0, 2_000);
}

function jestObject(require: NodeJS.Require) {
  const mocker = new ModuleMocker(globalThis);
  const timers = new ModernFakeTimers({
    config: { rootDir: "", fakeTimers: { doNotFake: ["nextTick"] } } as never,
    global: globalThis,
  });
  return {
    fn: mocker.fn.bind(mocker),
    spyOn: mocker.spyOn.bind(mocker),
    restoreAllMocks: () => mocker.restoreAllMocks(),
    useFakeTimers: (options?: object) => timers.useFakeTimers(options),
    useRealTimers: () => timers.useRealTimers(),
    advanceTimersByTimeAsync: (ms: number) => timers.advanceTimersByTimeAsync(ms),
    setTimeout: (ms: number) => (circus.getState().testTimeout = ms),
    requireActual: require,
  };
}

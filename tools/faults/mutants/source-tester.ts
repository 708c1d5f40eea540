import { fork, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import type { TestedFile, TestRequest } from "./source-tests.js";

/** The process hung or died, so that nothing more is known. */
export type Lost = "lost";

export interface TesterOptions {
  readonly root: string;
  /** A file with the sources that take the places of those on disk. */
  readonly texts: string;
  /** A folder for what may be kept. */
  readonly cache: string;
  readonly mode: "covers" | "mutants";
  readonly silenceMs: number;
}

/** Milliseconds that a process may need to start, silent until then. */
const startMs = 30_000;

/** A process that runs files of tests, and one anew where the old one hangs. */
export class Tester {
  #process: ChildProcess | undefined;

  constructor(private readonly options: TesterOptions) {}

  async run(request: TestRequest, longestMs: number): Promise<TestedFile | Lost> {
    const child = (this.#process ??= this.#start());
    const tested = await this.#answerOf(child, longestMs, () => child.send(request));
    if (tested === "lost" || tested.isBusy) {
      // Work that goes on there would slow the next tests down.
      this.stop();
    }
    return tested;
  }

  async #answerOf(child: ChildProcess, longestMs: number, ask: () => void): Promise<TestedFile | Lost> {
    let [silence, longest]: (NodeJS.Timeout | undefined)[] = [];
    try {
      return await new Promise<TestedFile | Lost>((resolve) => {
        const lost = () => resolve("lost");
        longest = setTimeout(lost, longestMs + startMs);
        child.on("message", (message: TestedFile | "alive") => {
          clearTimeout(silence);
          silence = setTimeout(lost, this.options.silenceMs);
          if (message !== "alive") {
            resolve(message);
          }
        });
        child.once("exit", lost);
        ask();
      });
    } finally {
      [silence, longest].forEach((timer) => clearTimeout(timer));
      child.removeAllListeners("message").removeAllListeners("exit");
    }
  }

  stop(): void {
    this.#process?.kill("SIGKILL");
    this.#process = undefined;
  }

  #start(): ChildProcess {
    const { root, texts, cache, mode } = this.options;
    return fork(join(import.meta.dirname, "source-worker.ts"), [root, texts, cache, mode], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
  }
}

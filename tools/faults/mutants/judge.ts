import { fork, type ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRedis, type PrivateRedis } from "../../testkit/servers/redis-server.js";
import type { Job, JudgedTest, Report } from "./lua-worker.js";

/** A worker and its server. Both are started anew where a test hangs, and after many jobs. */
export class Judge {
  /** The log that all servers write to. */
  readonly #log = join(tmpdir(), `lcmem-mutants-${process.pid}.log`);
  readonly #patience: (name: string) => number;
  #worker: ChildProcess | undefined;
  #redis: PrivateRedis | undefined;
  #jobs = 0;

  /** @param patience for how long a test may run, in milliseconds */
  constructor(patience: (name: string) => number) {
    this.#patience = patience;
  }

  /** How the tests ended; the name of the one that hangs. Asks again where the worker died before a test began. */
  async run(job: Job, isFirst = true): Promise<readonly JudgedTest[] | string> {
    if (this.#jobs >= 200) {
      await this.stop();
    }
    const worker = (this.#worker ??= await this.#start());
    this.#jobs += 1;
    const answer = await this.#answer(worker, job);
    if (typeof answer === "string") {
      await this.stop();
    }
    if (answer === "" && isFirst) {
      return this.run(job, false);
    }
    return answer;
  }

  async stop(): Promise<void> {
    this.#worker?.kill("SIGKILL");
    await this.#redis?.stop();
    this.#worker = this.#redis = undefined;
    rmSync(this.#log, { force: true });
  }

  async #start(): Promise<ChildProcess> {
    this.#jobs = 0;
    this.#redis = await startRedis(["--logfile", this.#log]);
    const env = { ...process.env, TEST_REDIS_URL: this.#redis.url, TEST_REDIS_LOG: this.#log };
    return fork(join(import.meta.dirname, "lua-worker.ts"), { env, stdio: ["ignore", "ignore", "ignore", "ipc"] });
  }

  #answer(worker: ChildProcess, job: Job): Promise<readonly JudgedTest[] | string> {
    return new Promise((resolve) => {
      let [name, timer]: [string, NodeJS.Timeout | undefined] = ["", undefined];
      const end = (answer: readonly JudgedTest[] | string) => {
        clearTimeout(timer);
        worker.removeAllListeners();
        resolve(answer);
      };
      const wait = () => {
        clearTimeout(timer);
        timer = setTimeout(() => end(name), this.#patience(name));
      };
      worker.on("message", (report: Report) => {
        if ("ended" in report) {
          end(report.ended);
        } else {
          name = report.begins;
          wait();
        }
      });
      worker.once("exit", () => end(name));
      wait();
      worker.send(job);
    });
  }
}

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ClientTask, Span } from "./client/client-task.js";
import type { ClientProcesses } from "./injection/light-faults.js";

/** The client processes of a run. One that is killed begins again, as a supervisor would begin it. */
export class Clients implements ClientProcesses {
  readonly #running = new Map<number, ChildProcess>();
  readonly #task: Omit<ClientTask, "process" | "incarnation" | "journal">;
  readonly #program: string;
  readonly #folder: string;
  /** Lines that processes wrote to their error output. */
  readonly complaints: string[] = [];
  #isOver = false;
  #ready = 0;
  #span: Span | undefined;

  constructor(
    task: Omit<ClientTask, "process" | "incarnation" | "journal">,
    { program, folder }: { readonly program: string; readonly folder: string },
  ) {
    this.#task = task;
    this.#program = program;
    this.#folder = folder;
    for (let process = 0; process < task.workload.processes; process += 1) {
      this.#begin(process, 0);
    }
  }

  /** Waits until all processes have loaded their code, and lets them work in this time. */
  async begin(spanFrom: () => Span): Promise<Span> {
    while (this.#ready < this.#task.workload.processes) {
      await pause(20);
    }
    const span = spanFrom();
    this.#span = span;
    this.#running.forEach((child) => child.send(span));
    return span;
  }

  kill(draw: number): void {
    const numbers = [...this.#running.keys()];
    this.#running.get(numbers[Math.floor(draw * numbers.length)] ?? -1)?.kill("SIGKILL");
  }

  /** Waits until all have ended; kills those that do not. */
  async ended(patienceMs: number): Promise<void> {
    this.#isOver = true;
    const running = [...this.#running.values()];
    const timer = setTimeout(() => running.forEach((child) => child.kill("SIGKILL")), patienceMs);
    await Promise.all(running.map((child) => child.exitCode ?? child.signalCode ?? once(child, "exit")));
    clearTimeout(timer);
  }

  /** Kills all. */
  abandon(): void {
    this.#isOver = true;
    this.#running.forEach((child) => child.kill("SIGKILL"));
  }

  #begin(process: number, incarnation: number): void {
    const journal = join(this.#folder, `client-${process}-${incarnation}.jsonl`);
    const task: ClientTask = { ...this.#task, process, incarnation, journal };
    const child = spawn(globalThis.process.execPath, [this.#program, JSON.stringify(task)], {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    child.once("message", () => {
      this.#ready += 1;
      if (this.#span !== undefined) {
        child.send(this.#span);
      }
    });
    this.#running.set(process, child);
    child.stderr!.on("data", (text: Buffer) => this.complaints.push(text.toString().slice(0, 2_000)));
    child.on("error", () => undefined);
    child.once("exit", (code, signal) => {
      this.#running.delete(process);
      if (signal === "SIGKILL" && !this.#isOver) {
        this.#begin(process, incarnation + 1);
      } else if (code !== 0 && signal === null) {
        this.complaints.push(`client ${process} ended with ${code}`);
      }
    });
  }
}

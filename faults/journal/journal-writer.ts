import { closeSync, openSync, writeSync } from "node:fs";
import { clock, type Ask, type Told } from "./entries.js";

/** Appends what a client asks and is told. A line is handed to the system before the question is sent. */
export class JournalWriter {
  readonly #file: number;
  #asks = 0;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  /** Notes a question; returns its number. */
  ask(question: Omit<Ask, "at" | "ask">): number {
    this.#asks += 1;
    this.#write({ at: clock(), ask: this.#asks, ...question });
    return this.#asks;
  }

  told(number: number, answer: Omit<Told, "at" | "told">): void {
    this.#write({ at: clock(), told: number, ...answer });
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(entry: Ask | Told): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }
}

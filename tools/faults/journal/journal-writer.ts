import { openSync, writeSync } from "node:fs";
import { clock, type Ask, type Told } from "./entries.js";

/** Appends what a client asks and is told, to what takes a line before the question is sent. */
export class JournalWriter {
  readonly #write: (line: string) => void;
  #asks = 0;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Appends to a file. A line is handed to the system at once. */
  static toFile(path: string): JournalWriter {
    const file = openSync(path, "a");
    return new JournalWriter((line) => void writeSync(file, line));
  }

  /** Notes a question; returns its number. */
  ask(question: Omit<Ask, "at" | "ask">): number {
    this.#asks += 1;
    this.#note({ at: clock(), ask: this.#asks, ...question });
    return this.#asks;
  }

  told(number: number, answer: Omit<Told, "at" | "told">): void {
    this.#note({ at: clock(), told: number, ...answer });
  }

  #note(entry: Ask | Told): void {
    this.#write(`${JSON.stringify(entry)}\n`);
  }
}

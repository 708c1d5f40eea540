import { counted, whole } from "./figures.js";
import { keysVariable } from "./encryption-keys.js";
import { printable } from "./printable.js";
import type { Screen } from "./screen.js";

/** Something wrong with what is stored under an id. */
export interface Finding {
  readonly problem: string;
  readonly severity: "error" | "warning";
  readonly detail: string;
  /** Its place, where it concerns a part: by number, or a checkpoint's id. */
  readonly position?: number;
  readonly id?: string;
  /** The key that is missing. */
  readonly keyId?: string;
}

/** The findings of one id. It counts as checked where it was opened: its records were read, and looked at. */
export interface Look {
  readonly isOpened: boolean;
  readonly all: readonly Finding[];
}

/** Prints and counts the findings of sessions, or of threads. */
export class Tally {
  readonly #screen: Screen;
  readonly #noun: string;
  readonly #options: { readonly all?: boolean; readonly warnings?: boolean };
  readonly #lacking = new Map<string, number>();
  checked = 0;
  unopened = 0;
  findingCount = 0;
  errors = 0;

  constructor(screen: Screen, noun: string, options: { readonly all?: boolean; readonly warnings?: boolean }) {
    this.#screen = screen;
    this.#noun = noun;
    this.#options = options;
  }

  /** Takes in what was found under `name`. Where all are checked, those whose key is missing are printed by key. */
  async note({ isOpened, all }: Look, name: string): Promise<void> {
    const findings = all.filter(({ severity }) => severity === "error" || this.#options.warnings);
    for (const finding of findings) {
      const { problem, position, id, detail, keyId } = finding;
      const part = position ?? id;
      await this.#screen.record(finding);
      if (keyId !== undefined && this.#options.all) {
        this.#lacking.set(keyId, (this.#lacking.get(keyId) ?? 0) + 1);
      } else {
        const place = part === undefined ? "" : ` ${part}`;
        await this.#screen.line(printable(`${name}: ${problem}${place}: ${detail}`));
      }
    }
    this.findingCount += findings.length;
    this.errors += findings.filter(({ severity }) => severity === "error").length;
    this.checked += isOpened ? 1 : 0;
    this.unopened += !isOpened && all.length > 0 ? 1 : 0;
  }

  /** Prints how many need which key. */
  async printLacking(): Promise<void> {
    for (const [keyId, count] of this.#lacking) {
      const needing = `${counted(count, this.#noun)} need${count === 1 ? "s" : ""} the key ${JSON.stringify(keyId)}`;
      await this.#screen.line(printable(`${needing}, which is not in ${keysVariable}: not checked`));
    }
  }
}

/** Prints how many were checked, and what was found. */
export async function printTotals(screen: Screen, tallies: readonly Tally[], nouns: string): Promise<void> {
  const unopened = tallies.reduce((sum, tally) => sum + tally.unopened, 0);
  const findings = tallies.reduce((sum, tally) => sum + tally.findingCount, 0);
  const not = unopened === 0 ? "" : `, ${whole(unopened)} could not be`;
  await screen.line(`${nouns} checked${not}, ${counted(findings, "finding")}.`);
}

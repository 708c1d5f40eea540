import { Presets, SingleBar } from "cli-progress";
import { bytes, timeLeft, whole } from "./figures.js";
import type { Screen } from "./screen.js";

/** How far a long command is, drawn in place on a terminal and nowhere else. */
export class ProgressBar {
  readonly #bar: SingleBar | undefined;
  readonly #total: number;
  readonly #began = performance.now();
  #screen: Screen | undefined;
  #done = 0;

  /**
   * `total` is undefined where it is not known; `unit` names what is counted, in the plural, and without it only the
   * share of the total is shown. Nothing is drawn without a screen.
   */
  constructor(
    screen: Screen | undefined,
    { total, unit }: { readonly total: number | undefined; readonly unit?: string },
  ) {
    this.#total = total ?? 0;
    if (screen?.showsProgress !== true) {
      return;
    }
    const shown = unit === "bytes" ? bytes : whole;
    const named = unit === undefined || unit === "bytes" ? "" : ` ${unit}`;
    const values = unit === undefined ? "" : `{value} of {total}${named}  `;
    this.#bar = new SingleBar(
      {
        format: total === undefined ? `{value}${named}` : `{bar} {percentage} %  ${values}{left} left`,
        formatValue: (value, _, type) => (type === "value" || type === "total" ? shown(value) : String(value)),
        stream: screen.errorStream as NodeJS.WriteStream,
        clearOnComplete: true,
        hideCursor: true,
        fps: 5,
        barsize: 20,
      },
      Presets.shades_classic,
    );
    this.#bar.start(this.#total, 0, this.#left());
    this.#screen = screen;
    screen.clearProgress = () => void screen.errorStream.write("\r\u001b[K");
  }

  /** Counts what was done. */
  advance(count = 1): void {
    this.#done += count;
    this.#bar?.update(this.#done, this.#left());
  }

  /** The estimate of cli-progress goes by the last ten steps, and says "0s" where they took no time. */
  #left(): { readonly left: string } {
    return { left: timeLeft(performance.now() - this.#began, { done: this.#done, total: this.#total }) };
  }

  /** Says how much was done in all. */
  reach(count: number): void {
    this.advance(count - this.#done);
  }

  /** Removes the bar from the screen. */
  stop(): void {
    this.#bar?.stop();
    if (this.#screen !== undefined) {
      this.#screen.clearProgress = undefined;
    }
  }
}

import { Presets, SingleBar } from "cli-progress";
import { bytes, whole } from "./figures.js";
import type { Screen } from "./screen.js";

/** How far a long command is, drawn in place on a terminal and nowhere else. */
export class ProgressBar {
  readonly #bar: SingleBar | undefined;
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
    if (screen?.showsProgress !== true) {
      return;
    }
    const shown = unit === "bytes" ? bytes : whole;
    const named = unit === undefined || unit === "bytes" ? "" : ` ${unit}`;
    const values = unit === undefined ? "" : `{value} of {total}${named}  `;
    this.#bar = new SingleBar(
      {
        format: total === undefined ? `{value}${named}` : `{bar} {percentage} %  ${values}{eta_formatted} left`,
        formatValue: (value, _, type) => (type === "value" || type === "total" ? shown(value) : String(value)),
        stream: screen.errorStream as NodeJS.WriteStream,
        clearOnComplete: true,
        hideCursor: true,
        fps: 5,
        barsize: 20,
      },
      Presets.shades_classic,
    );
    this.#bar.start(total ?? 0, 0);
    this.#screen = screen;
    screen.clearProgress = () => void screen.errorStream.write("\r\u001b[K");
  }

  /** Counts what was done. */
  advance(count = 1): void {
    this.#done += count;
    this.#bar?.update(this.#done);
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

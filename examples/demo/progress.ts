/** Tells how far a long run is: in place on a terminal, a line for each tenth elsewhere. */
export class Progress {
  private done = 0;
  private shown = 0;

  constructor(private readonly total: number) {}

  advance(): void {
    this.done += 1;
    const tenth = Math.floor((this.done * 10) / this.total);
    if (process.stderr.isTTY) {
      process.stderr.write(`\rplaying ${this.done} of ${this.total}${this.done === this.total ? "\n" : ""}`);
    } else if (tenth > this.shown && this.total >= 10) {
      process.stderr.write(`playing ${this.done} of ${this.total}\n`);
    }
    this.shown = tenth;
  }
}

/** The clock of a store's server, as one process knows it. */
export class ServerClock {
  /** Milliseconds by which the server's clock is ahead of the one of this process. */
  #offset = 0;

  /** The time in milliseconds since 1970: the local time until the first write has returned. */
  now(): number {
    return Math.max(0, Math.round(Date.now() + this.#offset));
  }

  /**
   * Notes the server's time that came back with a call which was sent at a local time. The offset that is known stays
   * if it is possible; else it moves to the nearest that is. So a slow reply does not spoil what a fast one has shown.
   */
  note(time: number | undefined, sent: number): void {
    if (time !== undefined) {
      const [least, most] = [time - Date.now(), time + 1 - sent];
      this.#offset = Math.max(Math.min(this.#offset, most), Math.min(least, most));
    }
  }
}

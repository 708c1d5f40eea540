import { StoreError } from "../../../src/base/errors.js";
import { around } from "../../../src/store/contract/groups.js";
import type { SessionStore } from "../../../src/store/contract/session-store.js";

const writes = new Set(["append", "commitReduction", "writeSide", "rewind", "replaceTail"]);

/** A store as a process sees it that dies: from some write on, nothing of it reaches the server. */
export class DyingStore {
  readonly store: SessionStore;
  #left = Infinity;

  constructor(store: SessionStore) {
    this.store = around(store, async ({ method }, go) => {
      this.#left -= writes.has(method) ? 1 : 0;
      if (this.#left < 0) {
        this.#left = -Infinity;
        throw new StoreError("The process is dead.", { code: "unavailable", operation: method });
      }
      return go();
    });
  }

  /** Lets so many more writes happen, and nothing behind them. */
  diesBehind(count: number): void {
    this.#left = count;
  }
}

import type { Model, Undo } from "./linearizable.js";

/** An operation on the log of one session, whose entries are turns. */
export type LogOperation =
  /** `again` stores a turn once more that was stored before and has gone. */
  | { readonly kind: "append"; readonly turn: string; readonly again?: boolean }
  | { readonly kind: "replace"; readonly turn: string; readonly from: string }
  | { readonly kind: "rewind"; readonly from: string }
  | { readonly kind: "clear" }
  | {
      /** A read shows the whole log, its end, its beginning, or a part that has its newest turn. */
      readonly kind: "read";
      readonly shows: "whole" | "end" | "beginning" | "part";
      readonly turns: readonly string[];
      /** Turns of which something was shown that is not followed. */
      readonly besides?: ReadonlySet<string>;
      /** True where summaries stand for turns. */
      readonly summed?: boolean;
    };

/**
 * A log that a turn is in once, and that a rewind cuts. Where messages are discarded when they leave the view, all that
 * a rewind leaves may have been discarded: a reduction may take any turn that others stand behind.
 */
export class LogModel implements Model<LogOperation> {
  readonly #discards: boolean;
  readonly #turns: string[] = [];
  readonly #places = new Map<string, number>();
  /** How often each turn was stored, removed ones included. */
  readonly #stored = new Map<string, number>();
  /** The hash of the log up to each turn. */
  readonly #hashes: number[] = [];
  /** True where something stood behind the newest turn, so that a reduction may have discarded that one too. */
  #wasLonger = false;

  constructor({ discards = false }: { readonly discards?: boolean } = {}) {
    this.#discards = discards;
  }

  isRead({ kind }: LogOperation): boolean {
    return kind === "read";
  }

  apply(does: LogOperation): Undo | "same" | undefined {
    switch (does.kind) {
      case "append":
        return does.again === true && !this.#stored.has(does.turn) ? undefined : this.#add(does.turn);
      case "rewind":
        return this.#cut(this.#places.get(does.from));
      case "clear":
        return this.#turns.length === 0 ? "same" : this.#cut(0);
      case "replace":
        return this.#replace(does);
      case "read":
        return this.#isRead(does) ? "same" : undefined;
    }
  }

  fingerprint(): string {
    const more = this.#discards && this.#wasLonger ? " was longer" : "";
    return `${this.#turns.length} ${this.#hashes.at(-1) ?? 0}${more}`;
  }

  #replace({ turn, from }: { readonly turn: string; readonly from: string }): Undo | "same" | undefined {
    if (this.#places.has(turn)) {
      return "same";
    }
    const uncut = this.#cut(this.#places.get(from));
    if (uncut === undefined) {
      return undefined;
    }
    const unpush = this.#store(turn);
    return () => {
      unpush();
      uncut();
    };
  }

  #add(turn: string): Undo | "same" {
    return this.#places.has(turn) ? "same" : this.#store(turn);
  }

  #store(turn: string): Undo {
    const before = this.#stored.get(turn) ?? 0;
    this.#stored.set(turn, before + 1);
    const unpush = this.#push(turn);
    return () => {
      unpush();
      if (before === 0) {
        this.#stored.delete(turn);
      } else {
        this.#stored.set(turn, before);
      }
    };
  }

  #push(turn: string): Undo {
    const wasLonger = this.#wasLonger;
    this.#wasLonger = false;
    this.#places.set(turn, this.#turns.length);
    this.#hashes.push(hashOf(turn, this.#hashes.at(-1) ?? 0));
    this.#turns.push(turn);
    return () => {
      this.#places.delete(turn);
      this.#hashes.pop();
      this.#turns.pop();
      this.#wasLonger = wasLonger;
    };
  }

  #cut(place: number | undefined): Undo | undefined {
    if (place === undefined) {
      return undefined;
    }
    const wasLonger = this.#wasLonger;
    const gone = this.#turns.splice(place);
    this.#hashes.splice(place);
    gone.forEach((turn) => this.#places.delete(turn));
    this.#wasLonger = true;
    return () => {
      gone.forEach((turn) => this.#push(turn));
      this.#wasLonger = wasLonger;
    };
  }

  #isRead({ shows, turns, besides, summed }: Extract<LogOperation, { kind: "read" }>): boolean {
    const { length } = this.#turns;
    if (shows === "part") {
      return this.#hasNewest(turns, besides, summed === true);
    }
    const first = shows === "end" ? length - turns.length : 0;
    const isLong = shows === "whole" ? turns.length === length : turns.length <= length;
    return isLong && turns.every((turn, at) => this.#turns[first + at] === turn);
  }

  /** True if the log holds all turns shown, in order, and its newest turn is among them. */
  #hasNewest(turns: readonly string[], besides: ReadonlySet<string> | undefined, summed: boolean): boolean {
    const newest = this.#turns.at(-1);
    if (turns.length === 0 && (besides?.size ?? 0) === 0) {
      return newest === undefined || summed || (this.#discards && this.#wasLonger);
    }
    const places = turns.map((turn) => this.#places.get(turn) ?? -1);
    const isOrdered = places.every((place, at) => place > (places[at - 1] ?? -1));
    return isOrdered && (newest === undefined || turns.at(-1) === newest || besides?.has(newest) === true);
  }
}

/** A hash of 48 bits. */
function hashOf(text: string, before: number): number {
  let [high, low] = [Math.floor(before / 0x1000000), before % 0x1000000];
  for (let at = 0; at < text.length; at += 1) {
    high = (Math.imul(high, 0x5bd1e9) + text.charCodeAt(at) + 1) & 0xffffff;
    low = (Math.imul(low, 0x193) ^ (text.charCodeAt(at) + high)) & 0xffffff;
  }
  return high * 0x1000000 + low;
}

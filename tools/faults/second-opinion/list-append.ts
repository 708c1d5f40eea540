import { DependencyGraph, type Cycle } from "./cycles.js";

/** Appends a value that no other transaction appends. */
export interface Append {
  readonly append: string;
  readonly value: string;
}

/** Reads a list. */
export interface Read {
  readonly read: string;
  readonly values: readonly string[];
  /** True where older values may be missing: only how new the read is counts. */
  readonly part?: boolean;
  /** True where the list may end inside of a transaction, because no more was asked for. */
  readonly cut?: boolean;
}

/** The effects of one transaction and their time: between `asked` and `told`. */
export interface Transaction {
  readonly name: string;
  readonly asked: number;
  /** Infinity where no answer came. */
  readonly told: number;
  /** `unknown` may have taken effect or not, `failed` has not. */
  readonly outcome: "done" | "failed" | "unknown";
  readonly does: readonly (Append | Read)[];
}

/** Something that no order of the transactions explains. */
export interface Anomaly {
  readonly name: string;
  readonly says: string;
}

/** Evidence besides the transactions themselves. */
export interface Known {
  /** Pairs of names: the first comes before the second. */
  readonly order?: readonly (readonly [before: string, after: string])[];
  /** Values that reads of a part may leave out although they are new. */
  readonly late?: ReadonlySet<string>;
}

interface Place {
  readonly writer: number;
  /** How many values of that list the same transaction wrote after it. */
  readonly after: number;
}

/**
 * Judges transactions that append to lists and read them, by the method of Kingsbury and Alvaro, "Elle: Inferring
 * Isolation Anomalies from Experimental Observations" (VLDB 2020): a list shows in which order its values were written,
 * so that the dependencies of the transactions follow from what was read, and a cycle among them is an anomaly. With
 * the order in time it is strict serializability. The time grows with the values read, and not with their square.
 */
export function judgeLists(transactions: readonly Transaction[], known: Known = {}): Anomaly[] {
  return new ListHistory(transactions, known).judge();
}

class ListHistory {
  readonly #all: readonly Transaction[];
  readonly #known: Known;
  readonly #graph = new DependencyGraph();
  readonly #places = new Map<string, Place>();
  readonly #observed = new Set<string>();
  readonly #anomalies: Anomaly[] = [];

  constructor(transactions: readonly Transaction[], known: Known) {
    this.#all = transactions;
    this.#known = known;
    transactions.forEach((transaction, writer) => {
      const counts = new Map<string, number>();
      for (const { append, value } of transaction.does.filter(isAppend).reverse()) {
        const after = counts.get(append) ?? 0;
        counts.set(append, after + 1);
        this.#places.set(`${append} ${value}`, { writer, after });
      }
    });
  }

  judge(): Anomaly[] {
    const reads = new Map<string, { readonly reader: number; readonly read: Read }[]>();
    this.#all.forEach(({ does, outcome }, reader) => {
      for (const read of outcome === "done" ? does.filter(isRead) : []) {
        read.values.forEach((value) => this.#observed.add(`${read.read} ${value}`));
        const others = reads.get(read.read) ?? [];
        reads.set(read.read, others);
        others.push({ reader, read });
      }
    });
    this.#all.forEach((transaction) => this.#inside(transaction));
    const keys = new Set([...reads.keys(), ...this.#all.flatMap(({ does }) => does.filter(isAppend).map(keyOf))]);
    for (const key of keys) {
      this.#list(key, reads.get(key) ?? []);
    }
    this.#times();
    const numbers = new Map(this.#all.map(({ name }, number) => [name, number]));
    for (const [before, after] of this.#known.order ?? []) {
      this.#graph.add(numbers.get(before)!, numbers.get(after)!, "order");
    }
    const found = this.#graph.cycles().map((cycle) => ({ name: cycle.name, says: this.#words(cycle) }));
    return [...this.#anomalies, ...found];
  }

  /** The order in which a list was written, and the dependencies that follow from it. */
  #list(key: string, reads: readonly { readonly reader: number; readonly read: Read }[]): void {
    reads.forEach(({ reader, read }) => this.#values(key, this.#all[reader]!, read));
    const longest = reads
      .filter(({ read }) => read.part !== true)
      .reduce<readonly string[]>((most, { read }) => (read.values.length > most.length ? read.values : most), []);
    const order = new Map(longest.map((value, position) => [value, position]));
    const writers = longest.map((value) => this.#places.get(`${key} ${value}`)?.writer);
    writers.forEach((writer, at) => this.#depend(writers[at - 1], writer, "ww"));
    // Values that were written and stand in no whole read come after all that do.
    const behind = new Set(
      this.#all.flatMap(({ does, outcome }, writer) => {
        const own = does.filter(isAppend).filter(({ append, value }) => append === key && !order.has(value));
        const isThere = outcome === "done" || own.some(({ value }) => this.#observed.has(`${key} ${value}`));
        return own.length > 0 && isThere ? [writer] : [];
      }),
    );
    behind.forEach((writer) => this.#depend(writers.at(-1), writer, "ww"));
    this.#torn(key, order);
    for (const { reader, read } of reads) {
      const isOther = read.part !== true && read.values.some((value, at) => longest[at] !== value);
      if (isOther) {
        this.#note("incompatible-order", `${this.#all[reader]!.name} read ${key} in another order than others did`);
      } else {
        this.#readOf(key, { reader, read, order, longest, writers, behind });
      }
    }
  }

  #readOf(
    key: string,
    {
      reader,
      read,
      order,
      longest,
      writers,
      behind,
    }: {
      readonly reader: number;
      readonly read: Read;
      readonly order: ReadonlyMap<string, number>;
      readonly longest: readonly string[];
      readonly writers: readonly (number | undefined)[];
      readonly behind: ReadonlySet<number>;
    },
  ): void {
    let newest = -1;
    for (const value of read.values) {
      newest = Math.max(newest, order.get(value) ?? (this.#places.has(`${key} ${value}`) ? longest.length : -1));
    }
    const seen = read.part === true ? read.values : read.values.slice(-1);
    seen.forEach((value) => this.#depend(this.#places.get(`${key} ${value}`)?.writer, reader, "wr"));
    if (read.cut === true) {
      return;
    }
    let next = newest + 1;
    while (read.part === true && next < longest.length && this.#known.late?.has(longest[next]!) === true) {
      next += 1;
    }
    if (next < longest.length) {
      this.#depend(reader, writers[next], "rw");
    } else if (newest < longest.length) {
      const isLate = (writer: number) =>
        this.#all[writer]!.does.some((does) => isAppend(does) && this.#known.late?.has(does.value) === true);
      const newer = [...behind].filter((writer) => read.part !== true || !isLate(writer));
      newer.forEach((writer) => this.#depend(reader, writer, "rw"));
    }
  }

  /** Anomalies of a read by itself: values that were never or not yet written, or twice, or half of a transaction. */
  #values(key: string, reader: Transaction, { values, cut }: Read): void {
    const says = (value: string, what: string) => `${reader.name} read ${value} in ${key}, ${what}`;
    const seen = new Set<string>();
    for (const value of values) {
      const writer = this.#all[this.#places.get(`${key} ${value}`)?.writer ?? -1];
      if (seen.has(value)) {
        this.#note("duplicate", says(value, "which stands there twice"));
      } else if (writer === undefined) {
        this.#note("unwritten", says(value, "which nobody wrote"));
      } else if (writer.outcome === "failed") {
        this.#note("G1a", says(value, `which ${writer.name} wrote and took back`));
      } else if (writer.asked > reader.told) {
        this.#note("future-read", says(value, "which was asked for only later"));
      }
      seen.add(value);
    }
    const last = values.at(-1);
    const place = last === undefined || cut === true ? undefined : this.#places.get(`${key} ${last}`);
    if (place !== undefined && place.after > 0 && this.#all[place.writer] !== reader) {
      this.#note("G1b", says(last!, `which ${this.#all[place.writer]!.name} went on from`));
    }
  }

  /** A transaction sees what it wrote itself. */
  #inside({ name, does, outcome }: Transaction): void {
    const own = new Map<string, string>();
    for (const one of outcome === "done" ? does : []) {
      if (isAppend(one)) {
        own.set(one.append, one.value);
      } else if (own.has(one.read) && one.values.at(-1) !== own.get(one.read)) {
        this.#note("internal", `${name} did not read in ${one.read} what it had written there`);
      }
    }
  }

  /** Transactions of which an earlier value is missing where a later one stands. */
  #torn(key: string, order: ReadonlyMap<string, number>): void {
    for (const { name, does } of this.#all) {
      const own = does.filter(isAppend).filter(({ append }) => append === key);
      const places = own.map(({ value }) => order.get(value));
      const last = places.findLastIndex((place) => place !== undefined);
      if (places.slice(0, Math.max(0, last)).includes(undefined)) {
        this.#note("torn", `${key} holds later values of ${name} without earlier ones`);
      }
    }
  }

  #depend(from: number | undefined, to: number | undefined, kind: "ww" | "wr" | "rw"): void {
    if (from !== undefined && to !== undefined) {
      this.#graph.add(from, to, kind);
    }
  }

  /**
   * Which transactions were over before which began, by one more node for each answer, in the order of the answers:
   * one edge leads to it from who was answered, and one from it to each who asked before the next answer.
   */
  #times(): void {
    const answered = [...this.#all.keys()]
      .filter((number) => this.#all[number]!.outcome === "done" && this.#all[number]!.told !== Infinity)
      .sort((a, b) => this.#all[a]!.told - this.#all[b]!.told);
    const asked = [...this.#all.keys()].sort((a, b) => this.#all[a]!.asked - this.#all[b]!.asked);
    const first = this.#all.length;
    answered.forEach((number, at) => {
      this.#graph.add(number, first + at, "time");
      if (at > 0) {
        this.#graph.add(first + at - 1, first + at, "time");
      }
    });
    let passed = 0;
    for (const number of asked) {
      while (passed < answered.length && this.#all[answered[passed]!]!.told < this.#all[number]!.asked) {
        passed += 1;
      }
      if (passed > 0) {
        this.#graph.add(first + passed - 1, number, "time");
      }
    }
  }

  #words({ edges }: Cycle): string {
    const steps = edges.filter(({ to }) => to < this.#all.length);
    const words = steps.map(({ kind, to }) => `-${kind}-> ${this.#all[to]!.name}`);
    const begin = this.#all[steps.at(-1)!.to]!.name;
    return `${begin} ${words.slice(0, 8).join(" ")}`;
  }

  #note(name: string, says: string): void {
    this.#anomalies.push({ name, says });
  }
}

function isAppend(does: Append | Read): does is Append {
  return "append" in does;
}

function isRead(does: Append | Read): does is Read {
  return "read" in does;
}

function keyOf({ append }: Append): string {
  return append;
}

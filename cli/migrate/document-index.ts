/** A place in a file. */
export interface Place {
  /** In bytes. */
  readonly offset: number;
  readonly length: number;
  /** Counted from 1. */
  readonly line: number;
}

/** Numbers that grow in place, eight or four bytes each. */
class Numbers<Values extends Float64Array | Uint32Array> {
  readonly #create: (size: number) => Values;
  #values: Values;
  count = 0;

  constructor(create: (size: number) => Values) {
    this.#create = create;
    this.#values = create(1_024);
  }

  add(value: number): void {
    if (this.count === this.#values.length) {
      const larger = this.#create(2 * this.count);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.count] = value;
    this.count += 1;
  }

  at(index: number): number {
    return this.#values[index]!;
  }
}

/**
 * An index of the documents of a file, by session and time: 32 bytes a document instead of the document, so that a file
 * may be larger than the memory.
 */
export class DocumentIndex {
  readonly #names: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #sessions = new Numbers((size) => new Uint32Array(size));
  readonly #times = new Numbers((size) => new Float64Array(size));
  readonly #offsets = new Numbers((size) => new Float64Array(size));
  readonly #lengths = new Numbers((size) => new Uint32Array(size));
  readonly #lines = new Numbers((size) => new Uint32Array(size));

  /** Notes the place of a document; called in the order of the file. */
  add(sessionId: string, time: number, { offset, length, line }: Place): void {
    let session = this.#numbers.get(sessionId);
    if (session === undefined) {
      session = this.#names.push(sessionId) - 1;
      this.#numbers.set(sessionId, session);
    }
    this.#sessions.add(session);
    this.#times.add(time);
    this.#offsets.add(offset);
    this.#lengths.add(length);
    this.#lines.add(line);
  }

  /** The sessions, in the order of the file; their documents by time, then in the order of the file. */
  *sessions(): Generator<{ readonly sessionId: string; readonly documents: Documents }> {
    const order = Uint32Array.from({ length: this.#sessions.count }, (_, index) => index).sort(
      (a, b) => this.#sessions.at(a) - this.#sessions.at(b) || this.#times.at(a) - this.#times.at(b) || a - b,
    );
    for (let from = 0, to = 0; from < order.length; from = to) {
      const session = this.#sessions.at(order[from]!);
      while (to < order.length && this.#sessions.at(order[to]!) === session) {
        to += 1;
      }
      const own = order.subarray(from, to);
      const documents = { count: own.length, place: (index: number) => this.#placeOf(own[index]!) };
      yield { sessionId: this.#names[session]!, documents };
    }
  }

  #placeOf(index: number): Place {
    return { offset: this.#offsets.at(index), length: this.#lengths.at(index), line: this.#lines.at(index) };
  }
}

/** The documents of a session. */
export interface Documents {
  readonly count: number;
  place(index: number): Place;
}

import { digestOf, type KnownThread } from "./known-items.js";
import { rangesText } from "./item-ranges.js";
import { referenceKey, type Segment } from "./split-value.js";

/** A record's text and its references. */
export interface EncodedRecord {
  /** With references in it. */
  readonly text: string;
  /** The positions that it names, in plain. */
  readonly ranges: string;
  readonly items: readonly string[];
  /** For each item, the digests under which its text may come again. */
  readonly digests: readonly (readonly string[])[];
  /** True if it names positions that were stored before: they must still be valid. */
  readonly namesStored: boolean;
}

/** The canonical form of a text, because one message may be serialized in several ways. */
export type Canonical = (text: string) => Promise<string>;

/** Gives each long text of a record its position, and writes the record with these. */
export async function encodeRecord(
  segments: readonly Segment[],
  thread: KnownThread,
  canonical: Canonical,
): Promise<EncodedRecord> {
  const places = new ItemPlaces(thread);
  for (const segment of segments) {
    if (typeof segment !== "string") {
      for (const text of "item" in segment ? [segment.item] : segment.list) {
        if (!places.has(text)) {
          places.add(text, text.includes('"lc":') ? await canonical(text) : text);
        }
      }
    }
  }
  const ranges = new Set<string>();
  const refer = (name: string, positions: readonly number[]): string => {
    const text = rangesText(positions, (group) => places.has(group) ?? places.add(group, group));
    ranges.add(text);
    return `{"${referenceKey}":{"${name}":"${text}"}}`;
  };
  const written = segments.map((segment) => {
    if (typeof segment === "string") {
      return segment;
    }
    if ("item" in segment) {
      return refer("i", [places.has(segment.item)!]);
    }
    const positions = segment.list.map((text) => places.has(text)!);
    return refer("l", positions);
  });
  return { text: written.join(""), ranges: [...ranges].filter((text) => text !== "").join(","), ...places.result() };
}

/** The positions of the texts of one record. */
class ItemPlaces {
  readonly #thread: KnownThread;
  readonly #positions = new Map<string, number>();
  readonly #items: string[] = [];
  readonly #digests: string[][] = [];
  #namesStored = false;

  constructor(thread: KnownThread) {
    this.#thread = thread;
  }

  has(text: string): number | undefined {
    const position = this.#positions.get(text);
    return position ?? this.#stored(text, digestOf(text));
  }

  /** Gives a text a position: that of its canonical form, or a new one. */
  add(text: string, canonical: string): number {
    const names = [...new Set([digestOf(text), digestOf(canonical)])];
    let position = this.#positions.get(canonical) ?? this.#stored(canonical, names.at(-1)!);
    if (position === undefined) {
      this.#items.push(canonical);
      this.#digests.push(names);
      position = -this.#items.length;
    } else if (position >= 0) {
      this.#thread.positions.set(names[0]!, position);
    } else {
      this.#digests[-1 - position]!.push(names[0]!);
    }
    this.#positions.set(canonical, position);
    this.#positions.set(text, position);
    return position;
  }

  result() {
    return { items: this.#items, digests: this.#digests, namesStored: this.#namesStored };
  }

  #stored(text: string, digest: string): number | undefined {
    const position = this.#thread.positions.get(digest);
    if (position !== undefined) {
      this.#positions.set(text, position);
      this.#namesStored = true;
    }
    return position;
  }
}

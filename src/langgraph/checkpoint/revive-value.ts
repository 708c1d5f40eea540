import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { positionsIn } from "./item-ranges.js";
import { messageOf, messageParts, type MessageParts } from "./revive-message.js";
import { referenceKey } from "./split-value.js";

type Fields = Record<string, unknown>;
type Place = (value: unknown) => void;

/** The source of values. */
export interface ValueSource {
  readonly serde: SerializerProtocol;
  /** The text of the item at a position. */
  readonly textAt: (position: number) => string;
  readonly items: ItemParser;
}

/** The JSON of an item, and its parts where it is a message. */
interface ParsedItem {
  readonly json: unknown;
  readonly message?: MessageParts | undefined;
}

/** Parses items. One that comes again, because the checkpoints of a list share it, is copied and not parsed again. */
export class ItemParser {
  /** The text of an item that came once. */
  readonly #seen = new Map<number, string>();
  readonly #kept = new Map<number, ParsedItem>();

  /** The content of the item at a position, in objects that nobody else has. */
  parse(position: number, text: string): ParsedItem {
    if (this.#seen.get(position) !== text) {
      // It is not kept before it comes again: mostly it does not.
      this.#seen.set(position, text);
      this.#kept.delete(position);
      return parsedItem(text);
    }
    const kept = this.#kept.get(position) ?? parsedItem(text);
    this.#kept.set(position, kept);
    const { json, message } = kept;
    return message === undefined
      ? { json: copied(json) }
      : { json: undefined, message: { ...message, kwargs: copied(message.kwargs) as Fields } };
  }
}

function parsedItem(text: string): ParsedItem {
  const json: unknown = JSON.parse(text);
  return { json, message: messageParts(text, json) };
}

/** A copy of JSON, in a third of the time that parsing takes: both share the strings. */
function copied(json: unknown): unknown {
  if (typeof json !== "object" || json === null) {
    return json;
  }
  if (Array.isArray(json)) {
    return json.map(copied);
  }
  // Spread makes an own `__proto__` an own property again, and then assignment keeps it one.
  const copy: Fields = { ...json };
  for (const name in copy) {
    if (typeof copy[name] === "object") {
      copy[name] = copied(copy[name]);
    }
  }
  return copy;
}

/**
 * Revives the values of a record as upstream's serializer does, with items in place of references.
 *
 * `base` is the record's base.
 */
export async function reviveValue(json: unknown, base: number, source: ValueSource): Promise<unknown> {
  const reader = new ValueReader(source, base);
  return reader.read(json);
}

class ValueReader {
  readonly #source: ValueSource;
  readonly #base: number;
  readonly #waiting: Promise<void>[] = [];

  constructor(source: ValueSource, base: number) {
    this.#source = source;
    this.#base = base;
  }

  async read(json: unknown): Promise<unknown> {
    let read: unknown;
    this.#revive(json, true, (value) => (read = value));
    // A value that is awaited may hold more of the kind.
    for (const waiting of this.#waiting) {
      await waiting;
    }
    return read;
  }

  /** `refers`: the value stands in the record itself, where references are; items hold none. */
  #revive(json: unknown, refers: boolean, place: Place): void {
    if (typeof json !== "object" || json === null) {
      place(json);
    } else if (Array.isArray(json)) {
      const list: unknown[] = new Array(json.length);
      json.forEach((element, index) => this.#revive(element, refers, (value) => (list[index] = value)));
      place(list);
    } else if (refers && Object.hasOwn(json, referenceKey)) {
      this.#refer((json as Fields)[referenceKey] as Fields, place);
    } else if (Object.hasOwn(json, "lc")) {
      this.#reviveSerialized(json as Fields, refers, place);
    } else {
      const object: Fields = {};
      for (const [name, field] of Object.entries(json)) {
        this.#revive(field, refers, (value) => setOwn(object, name, value));
      }
      place(object);
    }
  }

  #refer({ i, l, t, v }: Fields, place: Place): void {
    if (typeof t === "string") {
      this.#revive(v, true, (text) => {
        const bytes = Buffer.from(String(text), "base64");
        this.#later(this.#source.serde.loadsTyped(t, new Uint8Array(bytes)), place);
      });
      return;
    }
    const list: unknown[] = [];
    for (const position of positionsIn(String(i ?? l), this.#base, this.#source.textAt)) {
      const index = list.push(undefined) - 1;
      this.#reviveItem(position, i !== undefined ? place : (value) => (list[index] = value));
    }
    if (i === undefined) {
      place(list);
    }
  }

  #reviveItem(position: number, place: Place): void {
    // Item by item: of a long range that a damaged record names, the first that is missing ends it.
    const text = this.#source.textAt(position);
    const { json, message } = this.#source.items.parse(position, text);
    if (message !== undefined) {
      place(messageOf(message));
    } else {
      this.#revive(json, false, place);
    }
  }

  #reviveSerialized(json: Fields, refers: boolean, place: Place): void {
    const text = JSON.stringify(json);
    const message = json["lc"] === 1 ? messageParts(text, json) : undefined;
    if (message !== undefined) {
      place(messageOf(message));
    } else if (json["lc"] === 2 && json["type"] === "delta_snapshot" && Object.keys(json).length === 3) {
      // An empty one from the serializer, because not every version of LangGraph has the class.
      const empty = this.#source.serde.loadsTyped("json", '{"lc":2,"type":"delta_snapshot","value":null}');
      this.#later(empty, (snapshot: { value: unknown }) => {
        this.#revive(json["value"], refers, (value) => (snapshot.value = value));
        place(snapshot);
      });
    } else {
      this.#later(this.#source.serde.loadsTyped("json", text), place);
    }
  }

  #later<T>(value: Promise<T>, place: (value: T) => void): void {
    const waiting = value.then(place);
    // The first that fails is thrown; the others must not end the process.
    waiting.catch(() => undefined);
    this.#waiting.push(waiting);
  }
}

/** Sets an own property even for a name with a setter on Object.prototype. */
function setOwn(object: Fields, name: string, value: unknown): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[name] = value;
  }
}

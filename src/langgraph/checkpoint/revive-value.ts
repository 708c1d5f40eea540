import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { positionsIn, referenceKey } from "./split-value.js";

type Fields = Record<string, unknown>;
type Place = (value: unknown) => void;

/** The source of values. */
interface ValueSource {
  readonly serde: SerializerProtocol;
  /** The text of the item at a position. */
  readonly textAt: (position: number) => string;
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
    const json: unknown = JSON.parse(text);
    const message = messageIn(text, json);
    if (message !== undefined) {
      place(message);
    } else {
      this.#revive(json, false, place);
    }
  }

  #reviveSerialized(json: Fields, refers: boolean, place: Place): void {
    const text = JSON.stringify(json);
    const message = json["lc"] === 1 ? messageIn(text, json) : undefined;
    if (message !== undefined) {
      place(message);
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

type MessageClass = new (fields: never) => object;

const classes: Readonly<Record<string, MessageClass>> = {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
};

const beginning = '{"lc":1,"type":"constructor","id":["langchain_core","messages","';

/**
 * A serialized message, made directly of its fields: LangChain's `load` takes twenty times as long, which for a
 * thousand messages is what a read mostly takes. Undefined for what only `load` knows how to read: other classes,
 * messages that hold serialized objects, secrets or escaped ones, and fields under other names than the class's own.
 */
function messageIn(text: string, value: unknown): object | undefined {
  if (!text.startsWith(beginning) || text.includes('"lc":', beginning.length) || text.includes('"__lc_escaped__"')) {
    return undefined;
  }
  const { id, kwargs } = value as { readonly id: readonly string[]; readonly kwargs?: unknown };
  const Message = id.length === 3 && Object.hasOwn(classes, id[2]!) ? classes[id[2]!] : undefined;
  const isWhole = typeof kwargs === "object" && kwargs !== null && !Array.isArray(kwargs);
  const isOwn = Message !== undefined && isWhole && Object.keys(kwargs).every((name) => isOwnName(Message, name));
  return isOwn ? new Message(kwargs as never) : undefined;
}

const names = new WeakMap<MessageClass, ReadonlyMap<string, string>>();

/** True for a name that the class's constructor knows; some fields were written with those of Python. */
function isOwnName(Message: MessageClass, name: string): boolean {
  const aliases = names.get(Message) ?? aliasesOf(Message);
  names.set(Message, aliases);
  return aliases.has(name) ? aliases.get(name) === name : !/[-_\s]/.test(name);
}

function aliasesOf(Message: MessageClass): ReadonlyMap<string, string> {
  const aliases: Record<string, string> = {};
  for (let current = Message; current?.prototype; current = Object.getPrototypeOf(current) as MessageClass) {
    Object.assign(aliases, Reflect.get(current.prototype as object, "lc_aliases"));
  }
  return new Map(Object.entries(aliases).map(([own, written]) => [written, own]));
}

import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";

type Fields = Readonly<Record<string, unknown>>;
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

/** A message's class, and the fields that its constructor takes. */
export interface MessageParts {
  readonly Message: MessageClass;
  readonly kwargs: Fields;
}

/**
 * The parts of a serialized message, to make it directly: LangChain's `load` takes twenty times as long, which for a
 * thousand messages is what a read mostly takes. Undefined for what only `load` knows how to read: other classes, and
 * messages that hold serialized objects, secrets or escaped ones.
 */
export function messageParts(text: string, value: unknown): MessageParts | undefined {
  if (!text.startsWith(beginning) || text.includes('"lc":', beginning.length) || text.includes('"__lc_escaped__"')) {
    return undefined;
  }
  const { id, kwargs } = value as { readonly id: readonly string[]; readonly kwargs?: unknown };
  const Message = id.length === 3 && Object.hasOwn(classes, id[2]!) ? classes[id[2]!] : undefined;
  const isWhole = typeof kwargs === "object" && kwargs !== null && !Array.isArray(kwargs);
  return Message === undefined || !isWhole ? undefined : { Message, kwargs: withOwnNames(Message, kwargs as Fields) };
}

/** The message of its parts, which holds the fields themselves. */
export function messageOf({ Message, kwargs }: MessageParts): object {
  return new Message(kwargs as never);
}

const names = new WeakMap<MessageClass, ReadonlyMap<string, string>>();

/** The fields with the names that the class's constructor knows: some were written with those of Python. */
function withOwnNames(Message: MessageClass, kwargs: Fields): Fields {
  const aliases = names.get(Message) ?? aliasesOf(Message);
  names.set(Message, aliases);
  const ownName = (name: string) => aliases.get(name) ?? camelCase(name);
  // Mostly all names fit; to make another object would take a third of the time of a read.
  return Object.keys(kwargs).every((name) => ownName(name) === name)
    ? kwargs
    : Object.fromEntries(Object.entries(kwargs).map(([name, field]) => [ownName(name), field]));
}

function aliasesOf(Message: MessageClass): ReadonlyMap<string, string> {
  const aliases: Record<string, string> = {};
  for (let current = Message; current?.prototype; current = Object.getPrototypeOf(current) as MessageClass) {
    Object.assign(aliases, Reflect.get(current.prototype as object, "lc_aliases"));
  }
  return new Map(Object.entries(aliases).map(([own, written]) => [written, own]));
}

function camelCase(name: string): string {
  const trimmed = name.trim();
  return /[-_\s]/.test(trimmed)
    ? trimmed
        .replace(/[-_\s]+/g, "_")
        .toLowerCase()
        .replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    : trimmed;
}

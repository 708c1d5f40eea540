import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";

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
export function messageIn(text: string, value: unknown): object | undefined {
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

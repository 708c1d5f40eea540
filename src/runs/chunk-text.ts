import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  isBaseMessage,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import { RecordError } from "../base/errors.js";
import { isPropertyBag, startWalk, tagKey, tagValue } from "../store/codec/tagged-values.js";
import { untagValue } from "../store/codec/untagged-values.js";
import { isRecord } from "../conversation/messages/values.js";

/**
 * Chunks of a run as JSON. Values that JSON cannot hold have the tags of `tagged-values.ts`; the rest of what is not
 * plain is `{"$lcrun":[kind, …]}`:
 *
 * | kind | behind it |
 * | --- | --- |
 * | `ai`, `ai+` (a chunk), `human`, … | the fields of a message that are not empty |
 * | `+` | a value that later chunks of the run may repeat: whole messages, and the metadata of the mode `messages` |
 * | `=` | the number of such a value, from 0 |
 * | `Object` | the properties of an object that has a key `$lcrun` or `$lcmem` of its own |
 */
const markKey = "$lcrun";

type Fields = Record<string, unknown>;
type MessageClass = new (fields: never) => BaseMessage;

const classes: ReadonlyMap<string, MessageClass> = new Map<string, MessageClass>([
  ["ai", AIMessage],
  ["ai+", AIMessageChunk],
  ["human", HumanMessage],
  ["human+", HumanMessageChunk],
  ["system", SystemMessage],
  ["system+", SystemMessageChunk],
  ["tool", ToolMessage],
  ["tool+", ToolMessageChunk],
  ["function", FunctionMessage],
  ["function+", FunctionMessageChunk],
  ["generic", ChatMessage],
  ["generic+", ChatMessageChunk],
  ["remove", RemoveMessage],
]);

/** Fields that the constructors of chunks derive from each other: an empty one is put back. */
const lists = ["tool_calls", "invalid_tool_calls", "tool_call_chunks"];
const fieldNames = [
  ...["content", "id", "name", "role", "tool_call_id", "status", "artifact", "metadata", "chunk_position"],
  ...["additional_kwargs", "response_metadata", "usage_metadata", ...lists],
];

const maxDepth = 500;
const maxValues = 1_000_000;
/** Characters from which on a value is worth a reference. */
const shortestKept = 40;

/** Writes the chunks of one run, in order. */
export class ChunkWriter {
  /** The numbers of values that were written with `+`, by their text. */
  readonly #kept = new Map<string, number>();
  /** Values of the current chunk so far. */
  #values = 0;

  /**
   * The text of the next chunk.
   *
   * @throws RecordError `unsupported_message` for functions, symbols, circular references and the like.
   */
  text(chunk: unknown): string {
    this.#values = 0;
    return JSON.stringify(this.#lowered(chunk, 0));
  }

  #lowered(value: unknown, depth: number): unknown {
    if ((this.#values += 1) > maxValues || depth > maxDepth) {
      throw unwritable(depth > maxDepth ? `is nested deeper than ${maxDepth} levels` : "has too many values");
    }
    if (Array.isArray(value)) {
      return this.#list(value as unknown[], depth);
    }
    if (isBaseMessage(value)) {
      return this.#message(value, depth);
    }
    if (isPropertyBag(value)) {
      return this.#object(value, depth);
    }
    const own = ownForm(value);
    return own === undefined ? tagged(value) : this.#lowered(own, depth + 1);
  }

  /** A pair of a message and an object is what the mode `messages` yields: the object is the metadata of a node. */
  #list(list: readonly unknown[], depth: number): unknown[] {
    const isPair = list.length === 2 && isBaseMessage(list[0]) && isPropertyBag(list[1]);
    return list.map((each, index) => {
      const lowered = this.#lowered(each, depth + 1);
      return isPair && index === 1 ? this.#keep(lowered) : lowered;
    });
  }

  #object(object: Fields, depth: number): unknown {
    const entries = Object.keys(object)
      .filter((key) => object[key] !== undefined)
      .map((key) => [key, this.#lowered(object[key], depth + 1)] as const);
    const lowered = Object.fromEntries(entries);
    return Object.hasOwn(object, markKey) || Object.hasOwn(object, tagKey) ? mark("Object", lowered) : lowered;
  }

  #message(message: BaseMessage, depth: number): unknown {
    const isChunk = (message.constructor as { lc_name?: () => string }).lc_name?.().endsWith("Chunk") === true;
    const kind = `${message.getType()}${isChunk ? "+" : ""}`;
    if (!classes.has(kind)) {
      throw unwritable(`is a message of the type "${kind}"`);
    }
    const fields = message as unknown as Fields;
    const filled = fieldNames.filter((name) => !isEmpty(name, fields[name]));
    const lowered = Object.fromEntries(filled.map((name) => [name, this.#lowered(fields[name], depth + 1)]));
    const marked = mark(kind, lowered);
    return isChunk ? marked : this.#keep(marked);
  }

  #keep(lowered: unknown): unknown {
    const text = JSON.stringify(lowered);
    if (text.length < shortestKept) {
      return lowered;
    }
    const known = this.#kept.get(text);
    if (known !== undefined) {
      return mark("=", known);
    }
    this.#kept.set(text, this.#kept.size);
    return mark("+", lowered);
  }
}

/** Reads the chunks of one run, from the first on. */
export class ChunkReader {
  readonly #kept: unknown[] = [];

  /**
   * Takes the text of a batch, and returns its chunks for {@link ChunkReader.value}.
   *
   * @throws RecordError `corrupt` for a text that no {@link ChunkWriter} wrote.
   */
  take(text: string): unknown[] {
    return readable(() => {
      const chunks = JSON.parse(text) as unknown[];
      chunks.forEach((chunk) => this.#note(chunk));
      return chunks;
    });
  }

  /** A chunk that was taken, in objects that nobody else has. @throws RecordError `corrupt` */
  value(chunk: unknown): unknown {
    return readable(() => this.#raised(chunk));
  }

  /** The chunks of a batch's text. @throws RecordError `corrupt` */
  chunks(text: string): unknown[] {
    return this.take(text).map((chunk) => this.value(chunk));
  }

  /** Keeps what later chunks may repeat. The writer numbers a value when all in it has its number. */
  #note(value: unknown): void {
    if (Array.isArray(value)) {
      value.forEach((each) => this.#note(each));
    } else if (isRecord(value) && !Object.hasOwn(value, tagKey)) {
      const [kind, content] = Object.hasOwn(value, markKey) ? (value[markKey] as [string, unknown]) : [];
      if (kind === undefined) {
        Object.values(value).forEach((each) => this.#note(each));
      } else if (kind === "=") {
        this.#known(content);
      } else {
        this.#note(content);
        this.#kept.push(...(kind === "+" ? [content] : []));
      }
    }
  }

  #known(index: unknown): unknown {
    if (typeof index !== "number" || !(index in this.#kept)) {
      throw new Error("The chunk repeats a value that there is not.");
    }
    return this.#kept[index];
  }

  #raised(value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.map((each) => this.#raised(each));
    }
    if (!isRecord(value)) {
      return value;
    }
    if (Object.hasOwn(value, tagKey)) {
      return untagValue(value);
    }
    return Object.hasOwn(value, markKey) ? this.#marked(value[markKey] as [string, unknown]) : this.#properties(value);
  }

  #properties(object: Fields): Fields {
    return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, this.#raised(value)]));
  }

  #marked([kind, content]: readonly [string, unknown]): unknown {
    if (kind === "=" || kind === "+") {
      return this.#raised(kind === "=" ? this.#known(content) : content);
    }
    const fields = this.#properties(content as Fields);
    return kind === "Object" ? fields : messageOf(kind, fields);
  }
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch {
    // Without a cause: the errors of JSON.parse quote what they read.
    throw new RecordError("Chunks of a run cannot be read: no version of this package that is known wrote them.", {
      code: "corrupt",
    });
  }
}

function messageOf(kind: string, fields: Fields): BaseMessage {
  const Message = classes.get(kind);
  if (Message === undefined) {
    throw new Error(`The chunk holds a value of an unknown kind: ${kind}.`);
  }
  const message = new Message({ content: "", ...fields } as never);
  for (const name of lists.filter((list) => list in message)) {
    Reflect.set(message, name, fields[name] ?? []);
  }
  return message;
}

function mark(kind: string, content: unknown): Fields {
  return { [markKey]: [kind, content] };
}

/** True for the value that a field of a message has by default. */
function isEmpty(name: string, value: unknown): boolean {
  if (name === "content" || lists.includes(name)) {
    return value === undefined || (value as string | unknown[]).length === 0;
  }
  const isKwargs = name === "additional_kwargs" || name === "response_metadata";
  return value === undefined || (isKwargs && isPropertyBag(value) && Object.keys(value).length === 0);
}

/** The object that stands for one of a class, such as LangGraph's Command: it may hold messages. */
function ownForm(value: unknown): object | undefined {
  const { toJSON } = Object(value) as { readonly toJSON?: unknown };
  if (typeof value !== "object" || typeof toJSON !== "function" || ArrayBuffer.isView(value)) {
    return undefined;
  }
  try {
    const own: unknown = toJSON.call(value);
    return typeof own === "object" && own !== null ? own : undefined;
  } catch (error) {
    throw unwritable("cannot be read", error);
  }
}

function tagged(value: unknown): unknown {
  const walk = startWalk();
  try {
    return tagValue(value, walk);
  } catch (error) {
    throw unwritable(walk.problem?.reason ?? "cannot be read", error);
  }
}

function unwritable(reason: string, cause?: unknown): RecordError {
  const message = `A value in a chunk of the run ${reason}, so the chunk cannot be written as text. Map it before.`;
  return new RecordError(message, { code: "unsupported_message", ...(cause !== undefined && { cause }) });
}

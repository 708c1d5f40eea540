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
} from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { RecordError } from "../base/errors.js";
import { isPropertyBag, startWalk, tagged, tagKey, tagValue, untagValue } from "../store/codec/tagged-values.js";
import type { Walk } from "../store/codec/tagged-values.js";
import { isRecord } from "../conversation/messages/message.js";

/**
 * Chunks of a run as JSON. Values that JSON cannot hold have the tags of `tagged-values.ts`, and these kinds besides:
 *
 * | kind | behind it |
 * | --- | --- |
 * | `ai`, `ai+` (a chunk), `human`, … | the fields of a message that are not empty |
 * | `+` | a value that later chunks of the run may repeat: whole messages, and the metadata of the mode `messages` |
 * | `=` | the number of such a value, from 0 |
 */
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

/** Characters from which on a value is worth a reference. */
const shortestKept = 40;

/** Writes the chunks of one run, in order. */
export class ChunkWriter {
  /** The numbers of values that were written with `+`, by their text. */
  readonly #numbers = new Map<string, number>();

  /**
   * The text of the next chunk.
   *
   * @throws RecordError `unsupported_message` for functions, symbols, circular references and the like.
   */
  text(chunk: unknown): string {
    const walk: Walk = startWalk((value) => this.#own(value, walk));
    try {
      return JSON.stringify(tagValue(chunk, walk));
    } catch (error) {
      throw RecordError.isInstance(error) ? error : unwritable(walk.problem?.reason ?? "cannot be read", error);
    }
  }

  /** A pair of a message and an object is what the mode `messages` yields: the object is the metadata of a node. */
  #own(value: object, walk: Walk): unknown {
    if (!Array.isArray(value)) {
      return isBaseMessage(value) ? this.#message(value, walk) : undefined;
    }
    const [message, metadata] = value as unknown[];
    const isPair = value.length === 2 && isBaseMessage(message) && isPropertyBag(metadata);
    return isPair ? [tagValue(message, walk), this.#keep(tagValue(metadata, walk))] : undefined;
  }

  #message(message: BaseMessage, walk: Walk): unknown {
    const isChunk = (message.constructor as { lc_name?: () => string }).lc_name?.().endsWith("Chunk") === true;
    const kind = `${message.getType()}${isChunk ? "+" : ""}`;
    if (!classes.has(kind)) {
      throw unwritable(`is a message of the type "${kind}"`);
    }
    const fields = message as unknown as Fields;
    const filled = fieldNames.filter((name) => !isEmpty(name, fields[name]));
    const lowered = Object.fromEntries(filled.map((name) => [name, tagValue(fields[name], walk)]));
    const marked = tagged(kind, lowered);
    return isChunk ? marked : this.#keep(marked);
  }

  #keep(lowered: unknown): unknown {
    const text = JSON.stringify(lowered);
    if (text.length < shortestKept) {
      return lowered;
    }
    const number = this.#numbers.get(text);
    if (number !== undefined) {
      return tagged("=", number);
    }
    this.#numbers.set(text, this.#numbers.size);
    return tagged("+", lowered);
  }
}

/** Reads the chunks of one run, from the first on. */
export class ChunkReader {
  readonly #contents: unknown[] = [];

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
    return readable(() => this.#untagged(structuredClone(chunk)));
  }

  /** The chunks of a batch's text. @throws RecordError `corrupt` */
  chunks(text: string): unknown[] {
    return this.take(text).map((chunk) => this.value(chunk));
  }

  /** Keeps what later chunks may repeat. The writer numbers a value when all in it has its number. */
  #note(value: unknown): void {
    if (Array.isArray(value)) {
      value.forEach((each) => this.#note(each));
    } else if (isRecord(value)) {
      const [kind, content] = Object.hasOwn(value, tagKey) ? (value[tagKey] as unknown[]) : [undefined, value];
      if (kind === "=") {
        this.#contentAt(content);
      } else {
        this.#note(kind === undefined || kind === "Object" ? Object.values(content as object) : content);
        this.#contents.push(...(kind === "+" ? [content] : []));
      }
    }
  }

  #contentAt(index: unknown): unknown {
    if (typeof index !== "number" || !(index in this.#contents)) {
      throw new Error("The chunk repeats a value that there is not.");
    }
    return this.#contents[index];
  }

  #untagged(value: unknown): unknown {
    return untagValue(value, (kind, content) => {
      if (kind === "=") {
        return this.value(this.#contentAt(content));
      }
      return kind === "+" ? this.#untagged(content) : messageOf(kind, this.#untagged(content) as Fields);
    });
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

/** True for the value that a field of a message has by default. */
function isEmpty(name: string, value: unknown): boolean {
  if (name === "content" || lists.includes(name)) {
    return value === undefined || (value as string | unknown[]).length === 0;
  }
  const isKwargs = name === "additional_kwargs" || name === "response_metadata";
  return value === undefined || (isKwargs && isPropertyBag(value) && Object.keys(value).length === 0);
}

function unwritable(reason: string, cause?: unknown): RecordError {
  const message = `A value in a chunk of the run ${reason}, so the chunk cannot be written as text. Map it before.`;
  return new RecordError(message, { code: "unsupported_message", ...(cause !== undefined && { cause }) });
}

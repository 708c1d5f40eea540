import { concat } from "@langchain/core/utils/stream";
import { type BaseMessage, isBaseMessage, type BaseMessageChunk } from "@langchain/core/messages";
import { isPlainObject } from "../base/json-value.js";
import { isRecord } from "../messages/values.js";

/** How LangGraph is asked to stream, in the config of a call. */
export interface StreamForm {
  readonly streamMode?: unknown;
  readonly subgraphs?: unknown;
}

/** Modes of a graph's stream that hold its output, the most telling first. */
const outputModes = ["values", "updates", "messages"];

/** A chunk of a graph's stream, its mode if it names one, and whether a subgraph gave it. */
interface ModeChunk {
  readonly mode?: string;
  readonly chunk: unknown;
  readonly isInner?: boolean;
}

/** Reads a chunk: with several modes a list of mode and chunk, with subgraphs behind the subgraph's place. */
function openChunk(chunk: unknown, { streamMode, subgraphs }: StreamForm): ModeChunk {
  const hasMode = Array.isArray(streamMode);
  const length = 1 + (hasMode ? 1 : 0) + (subgraphs === true ? 1 : 0);
  if (length === 1 || !Array.isArray(chunk) || chunk.length !== length) {
    return { chunk };
  }
  const parts: unknown[] = [...chunk];
  const place = subgraphs === true ? parts.shift() : [];
  const mode = hasMode ? parts.shift() : undefined;
  const isOpen = Array.isArray(place) && (!hasMode || typeof mode === "string");
  return isOpen ? { ...(hasMode && { mode: mode as string }), chunk: parts[0], isInner: place.length > 0 } : { chunk };
}

/** A whole output as a chunk of such a stream. */
export function asChunk<Output>(output: Output, { streamMode, subgraphs }: StreamForm): Output {
  const inMode = Array.isArray(streamMode) ? ["values", output] : [output];
  const chunk = subgraphs === true ? [[], ...inMode] : inMode;
  return (chunk.length === 1 ? output : chunk) as Output;
}

/** Joins the chunks of a stream into its output; of a graph's stream in several modes, those of one of them. */
export class JoinedChunks<Output> {
  readonly #form: StreamForm;
  readonly #modes = new Map<string, JoinedMode<Output>>();
  #isEmpty = true;

  constructor(form: StreamForm) {
    this.#form = form;
  }

  add(given: Output): void {
    this.#isEmpty = false;
    const { mode = "", chunk, isInner = false } = openChunk(given, this.#form);
    if (!isInner) {
      const joined = this.#modes.get(mode) ?? new JoinedMode<Output>();
      this.#modes.set(mode, joined);
      joined.add(chunk as Output);
    }
  }

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Undefined before the first chunk, and where no mode holds the output. */
  get whole(): Output | undefined {
    const mode = ["", ...outputModes].find((name) => this.#modes.has(name));
    return mode === undefined ? undefined : this.#modes.get(mode)!.whole;
  }

  /** The output up to a stop: the messages that were streamed, which a state does not hold yet. */
  get said(): Output | undefined {
    return this.#modes.get("messages")?.whole ?? this.whole;
  }
}

/** Joins the chunks of one mode. */
class JoinedMode<Output> {
  #sum: Output | undefined;
  #last: Output | undefined;
  #count = 0;
  /** True while chunks are cumulative, as those of JSON parsers. */
  #isGrowing = true;
  /** Messages added by an agent's stream; undefined for any other stream. */
  #added: BaseMessage[] | undefined = [];

  add(chunk: Output): void {
    const added = this.#added && agentMessages(chunk);
    if (added === undefined) {
      this.#added = undefined;
    } else {
      joinMessages(this.#added!, added);
    }
    this.#isGrowing &&= isRecord(chunk) && (this.#count === 0 || extendsValue(chunk, this.#last));
    this.#sum = this.#count === 0 ? chunk : joined(this.#sum as Output, chunk);
    this.#last = chunk;
    this.#count += 1;
  }

  get whole(): Output | undefined {
    if (this.#count > 0 && this.#added !== undefined) {
      return { messages: this.#added } as Output;
    }
    return this.#isGrowing ? this.#last : this.#sum;
  }
}

/** Concatenates chunks that support it; of others (whole values), the last is the output. */
function joined<Output>(sum: Output, chunk: Output): Output {
  try {
    return concat(sum as never, chunk as never) as Output;
  } catch {
    return chunk;
  }
}

/** True if `value` is `earlier` extended: a longer text, or a list or object with more in it. */
function extendsValue(value: unknown, earlier: unknown): boolean {
  if (typeof earlier === "string") {
    return typeof value === "string" && value.startsWith(earlier);
  }
  if (Array.isArray(earlier)) {
    return Array.isArray(value) && earlier.every((element, index) => extendsValue(value[index], element));
  }
  if (!isPlainObject(earlier)) {
    return typeof earlier !== "object" || earlier === null;
  }
  return (
    isPlainObject(value) && Object.keys(earlier).every((key) => key in value && extendsValue(value[key], earlier[key]))
  );
}

/**
 * The messages in a chunk of an agent's stream: node updates (mode `updates`), or a message (chunk) with its metadata
 * (`messages`). Undefined for other chunks.
 */
function agentMessages(chunk: unknown): BaseMessage[] | undefined {
  if (Array.isArray(chunk)) {
    const [message, metadata] = chunk as unknown[];
    const isPart = chunk.length === 2 && isBaseMessage(message) && isRecord(metadata) && !isBaseMessage(metadata);
    return isPart ? [message] : undefined;
  }
  if (!isRecord(chunk) || isBaseMessage(chunk)) {
    return undefined;
  }
  const lists = Object.values(chunk).map((update) => (isRecord(update) ? update["messages"] : undefined));
  const isUpdate = lists.length > 0 && lists.every((list) => Array.isArray(list) && list.every(isBaseMessage));
  return isUpdate ? (lists as BaseMessage[][]).flat() : undefined;
}

/** Adds messages; chunks of one message are concatenated. */
function joinMessages(all: BaseMessage[], more: readonly BaseMessage[]): void {
  for (const message of more) {
    const last = all.at(-1);
    const isPart = last !== undefined && message.id !== undefined && message.id === last.id;
    if (isPart && "concat" in last) {
      all[all.length - 1] = (last as BaseMessageChunk).concat(message as never);
    } else if (!isPart) {
      all.push(message);
    }
  }
}
